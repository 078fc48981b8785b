"""What the processes of a session need: what they hold, and not the files that they have mapped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from graphfix.batch.process import sessions


def test_a_mapped_file_is_not_counted_and_what_is_held_is(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(bytes(200 << 20))
    code = (
        "import mmap, sys\n"
        "file = open(sys.argv[1], 'rb')\n"
        "held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)\n"
        "total = sum(held[::4096])\n"
        "more = b'x' * (50 << 20)\n"
        "print(flush=True)\n"
        "input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "big")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        used = sessions.used(process.pid)
        assert psutil.Process(process.pid).memory_info().rss > 200 << 20
        process.kill()
    assert 50 << 20 < used < 90 << 20


# --- a system that lists no processes ---------------------------------------------------------------------------------


@pytest.fixture(params=[FileNotFoundError(2, "No such file or directory", "/proc"), IndexError()], ids=repr)
def _unlisted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux without /proc: psutil raises where /proc is missing or an empty folder."""

    def fail(*_: object) -> None:
        raise request.param

    monkeypatch.setattr(psutil, "pids", fail)
    monkeypatch.setattr(psutil, "Process", fail)


@pytest.mark.usefixtures("_unlisted")
def test_a_session_is_killed_as_a_group_where_no_process_is_listed() -> None:
    with subprocess.Popen(["/bin/sleep", "60"], start_new_session=True) as process:
        sessions.kill(process.pid)
        assert process.wait(timeout=5) == -signal.SIGKILL
        sessions.kill(process.pid)  # it is gone


@pytest.mark.usefixtures("_unlisted")
def test_its_memory_is_not_known_then() -> None:
    assert sessions.used(os.getpid()) == 0


@pytest.mark.parametrize("mine", [0, 77], ids=["started outside of the container", "started in it"])
def test_a_process_that_has_ended_is_in_no_session_and_does_not_run(mine: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = 1 << 30

    def getsid(pid: int) -> int:
        if pid == gone:
            raise ProcessLookupError
        return mine

    monkeypatch.setattr(sessions.psutil, "pids", lambda: [gone, os.getpid()])
    monkeypatch.setattr(sessions.os, "getsid", getsid)
    assert sessions.members(mine) == sessions.running(mine) == [os.getpid()]
    assert sessions.members(5) == sessions.running(5) == []
    assert sessions.anonymous(gone) == sessions.used(5) == 0


@pytest.mark.parametrize("error", [ProcessLookupError(), PermissionError()], ids=repr)
def test_a_group_that_is_gone_or_another_user_s_is_left(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    killed: list[tuple[int, int]] = []

    def kill(group: int, number: int) -> None:
        killed.append((group, number))
        raise error

    monkeypatch.setattr(sessions, "_processes", lambda: None)
    monkeypatch.setattr(sessions.os, "killpg", kill)
    sessions.kill(77)
    assert killed == [(77, signal.SIGKILL)]


def test_all_of_a_session_but_the_caller_are_killed_until_none_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, int]] = []
    left = iter([[5, os.getpid(), 6], [6, os.getpid()], [os.getpid()]])

    def kill(pid: int, number: int) -> None:
        killed.append((pid, number))
        raise ProcessLookupError

    monkeypatch.setattr(sessions, "_processes", list)
    monkeypatch.setattr(sessions, "running", lambda session: next(left) if session == 77 else [])
    monkeypatch.setattr(sessions.os, "kill", kill)
    sessions.kill(77)
    assert killed == [(pid, signal.SIGKILL) for pid in (5, 6, 6)]


def test_what_is_not_ended_by_a_kill_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "PATIENCE", -1.0)
    monkeypatch.setattr(sessions, "running", lambda _: [5])
    killed: list[int] = []
    monkeypatch.setattr(sessions.os, "kill", lambda pid, _: killed.append(pid))
    sessions.kill(77)
    assert killed == [5]


@pytest.mark.parametrize(("shared", "held"), [({"shared": 30}, 70), ({}, 100)], ids=["known", "not known"])
def test_what_is_shared_with_files_is_not_held(
    monkeypatch: pytest.MonkeyPatch, shared: dict[str, int], held: int
) -> None:
    found = SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=100, **shared), status=lambda: psutil.STATUS_ZOMBIE)
    monkeypatch.setattr(sessions.psutil, "Process", lambda _: found)
    assert sessions.anonymous(5) == held
    monkeypatch.setattr(sessions.psutil, "pids", lambda: [os.getpid()])
    mine = os.getsid(0)
    assert (sessions.members(mine), sessions.running(mine), sessions.used(mine)) == ([os.getpid()], [], held)

"""A model that hangs, aborts or needs too much ends its process with all that it started, and the next one is done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from graphfix.batch.jobs.job import Limits
from graphfix.batch.process import child, sessions
from graphfix.batch.process.child import Child, StoppedError
from graphfix.batch.process.messages import LocalJob, Locations
from graphfix.engine.request import Request
from graphfix.results import Outcome
from graphfix.results.faults import Fault, InternalError
from tests.support import small_models as own
from tests.support.places import ROOT

SHORT = 1.5
"""Seconds for a model that hangs: a start takes half of one."""
LONG = 60.0
AT_ONCE = 2.0
"""Seconds within which all processes are gone."""
SMALL = 300 << 20
"""Bytes: a process that does a small model needs a third of them."""


@pytest.fixture
def asked() -> Iterator[Child]:
    made = Child()
    yield made
    made.stop()


def job(folder: Path, plan: str = "") -> LocalJob:
    rewrites = (str(own.rewrite(folder, plan)),) if plan else ()
    request = Request(rewrites=rewrites, check_result=False)
    source = own.multiplying(folder / "m.onnx")
    return LocalJob("fix", source, folder / "made.onnx", request, folder, folder)


def ask(asked: Child, folder: Path, plan: str = "", limits: Limits | None = None) -> object:
    return asked.ask(job(folder, plan), limits or Limits(LONG))


def session(asked: Child) -> int:
    assert asked._process is not None
    return asked._process.pid


def gone(number: int, seconds: float = AT_ONCE) -> bool:
    """Whether no process of a session runs any more, within so many seconds."""
    end = time.monotonic() + seconds
    while sessions.running(number):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.ci
@pytest.mark.parametrize(
    ("plan", "limits", "kind", "why"),
    [
        (own.HANG, Limits(SHORT), "time", "it took longer than 1.5 seconds"),
        (own.LOCKING, Limits(SHORT), "time", "it took longer than 1.5 seconds"),
        (own.GREEDY, Limits(LONG, SMALL), "memory", "it needed more than 300 MiB of memory"),
        (own.GREEDY_LATER, Limits(LONG, SMALL), "memory", "it needed more than 300 MiB of memory"),
        (own.ABORT, Limits(LONG), "aborted", "its process ended (SIGABRT)"),
        (own.LEAVE, Limits(LONG), "aborted", "its process ended (exit status 7)"),
    ],
    ids=["hangs", "hangs with the lock", "greedy", "greedy by what it starts", "aborts", "leaves"],
)
def test_what_ends_a_child_is_named_and_the_next_model_is_done(
    asked: Child, tmp_path: Path, plan: str, limits: Limits, kind: str, why: str
) -> None:
    asked.ask(Locations(tmp_path / "none"), limits)
    number = session(asked)
    with pytest.raises(StoppedError) as stopped:
        ask(asked, tmp_path, plan, limits)
    assert (stopped.value.kind, str(stopped.value)) == (kind, why)
    assert gone(number, 0)
    assert isinstance(ask(asked, tmp_path), Outcome)
    assert session(asked) != number


@pytest.mark.ci
def test_a_child_that_is_killed_from_outside_is_an_abort(asked: Child, tmp_path: Path) -> None:
    threading.Timer(SHORT, lambda: os.kill(session(asked), signal.SIGKILL)).start()
    with pytest.raises(StoppedError, match=r"^its process ended \(SIGKILL\)$") as stopped:
        ask(asked, tmp_path, own.HANG)
    assert stopped.value.kind == "aborted"
    assert isinstance(ask(asked, tmp_path), Outcome)


@pytest.mark.ci
def test_a_child_that_dies_while_it_waits_costs_no_model(asked: Child, tmp_path: Path) -> None:
    ask(asked, tmp_path)
    os.killpg(session(asked), signal.SIGKILL)
    assert gone(session(asked))
    assert isinstance(ask(asked, tmp_path), Outcome)


@pytest.mark.ci
def test_one_process_does_all_models(asked: Child, tmp_path: Path) -> None:
    ask(asked, tmp_path)
    number = session(asked)
    ask(asked, tmp_path)
    assert session(asked) == number


def test_a_child_that_keeps_much_memory_makes_way(
    asked: Child, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "KEPT", 1 << 20)
    assert isinstance(ask(asked, tmp_path), Outcome)
    assert asked._process is None


@pytest.mark.ci
def test_a_model_is_called_off_at_once(asked: Child, tmp_path: Path) -> None:
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    started = time.monotonic()
    with pytest.raises(CancelledError):
        asked.ask(job(tmp_path, own.HANG), Limits(LONG), stop)
    assert time.monotonic() - started < 0.5 + AT_ONCE


@pytest.mark.ci
def test_an_idle_child_ends_with_whoever_held_it(tmp_path: Path) -> None:
    held = Child()
    ask(held, tmp_path)
    number = session(held)
    assert not gone(number, 0)
    del held
    assert gone(number)


PARENT = """
import sys
from pathlib import Path
from graphfix.batch.process.child import Child
from graphfix.batch.jobs.job import Limits
from tests.batch import test_child
child = Child()
child.ask(test_child.Locations(Path("none")), Limits(60))
print(test_child.session(child), flush=True)
if sys.argv[2]:
    child.ask(test_child.job(Path(sys.argv[1]), sys.argv[2]), Limits(60))
"""


@pytest.mark.ci
@pytest.mark.parametrize(
    ("plan", "processes"),
    [(own.HANG, 2), (own.LOCKING, 2), (own.GREEDY_LATER, 3)],
    ids=["sleeps", "keeps the lock", "has started others"],
)
def test_all_processes_end_at_once_when_the_parent_is_killed(tmp_path: Path, plan: str, processes: int) -> None:
    with parent(tmp_path, plan) as asking:
        assert asking.stdout is not None
        number = int(asking.stdout.readline())
        time.sleep(SHORT)
        assert len(sessions.running(number)) == processes
        asking.kill()
        assert gone(number)
    assert not (tmp_path / "made.onnx").exists()


@pytest.mark.ci
def test_an_idle_child_ends_with_the_interpreter(tmp_path: Path) -> None:
    with parent(tmp_path, "") as asking:
        assert asking.stdout is not None
        number = int(asking.stdout.readline())
        assert asking.wait() == 0
    assert gone(number)


def parent(folder: Path, plan: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *sys.path)))}
    command = [sys.executable, "-c", PARENT, str(folder), plan]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


# --- with a stand-in for the process ----------------------------------------------------------------------------------


class StandIn:
    """A process that answers what a test says, or is gone."""

    pid, has_ended = 1 << 30, False
    answer: object = EOFError()

    def __init__(self, *_: object, **__: object) -> None: ...

    def ask(self, _: object) -> object:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def end(self) -> int:
        return -signal.SIGKILL


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> type[StandIn]:
    made = type("Process", (StandIn,), {})
    monkeypatch.setattr(child, "AskedProcess", made)
    monkeypatch.setattr(child.sessions, "kill", lambda _: None)
    return made


def test_an_answer_is_returned_and_an_error_of_the_system_raised(stand_in: type[StandIn], asked: Child) -> None:
    stand_in.answer = ("done", ["w.bin"])
    assert asked.ask("m", Limits(LONG)) == ["w.bin"]
    kept = asked._process
    assert kept is not None
    stand_in.answer = ("raised", OSError("no room"))
    with pytest.raises(OSError, match="no room"):
        asked.ask("m", Limits(LONG))
    stand_in.answer = ("fault", Fault.of(KeyError("x")))
    with pytest.raises(InternalError):
        asked.ask("m", Limits(LONG))
    assert asked._process is kept


@pytest.mark.parametrize("error", [EOFError(), KeyboardInterrupt(), ValueError("x")], ids=repr)
def test_a_process_that_does_not_answer_is_not_asked_again(
    stand_in: type[StandIn], asked: Child, error: BaseException
) -> None:
    stand_in.answer = error
    with pytest.raises(child.StoppedError if isinstance(error, EOFError) else type(error)) as ended:
        asked.ask("m", Limits(LONG))
    if isinstance(error, EOFError):
        assert str(ended.value) == "its process ended (SIGKILL)"
        assert getattr(ended.value, "kind", None) == "aborted"
    assert asked._process is None


def test_why_a_process_has_ended_is_what_it_was_ended_for() -> None:
    stop = threading.Event()
    bounds = child._Bounds(StandIn(), Limits(1.5, 3 << 29), stop)  # type: ignore[arg-type]
    bounds.watch.expired = True
    late = bounds.why()
    bounds._heavy = True
    heavy = bounds.why()
    stop.set()
    assert isinstance(bounds.why(), CancelledError)
    assert (str(late), getattr(late, "kind", "")) == ("it took longer than 1.5 seconds", "time")
    assert (str(heavy), getattr(heavy, "kind", "")) == ("it needed more than 1.5 GiB of memory", "memory")


def test_memory_is_told_in_the_larger_unit_that_fits() -> None:
    assert [child._size(number) for number in (300 << 20, (1 << 30) - (1 << 20), 1 << 30, 5 << 29)] == [
        "300 MiB",
        "1023 MiB",
        "1 GiB",
        "2.5 GiB",
    ]


@pytest.mark.parametrize(
    ("held", "limit", "killed", "kept"),
    [
        (0, 8, False, True),
        (4, 8, False, True),
        (5, 8, False, False),
        (100, 1000, False, True),
        (101, 1000, False, False),
        (0, 8, True, False),
    ],
    ids=["little", "half of the limit", "more", "as much as is kept", "more than is kept", "killed"],
)
def test_a_process_that_holds_much_or_was_killed_makes_way(
    stand_in: type[StandIn],
    asked: Child,
    monkeypatch: pytest.MonkeyPatch,
    held: int,
    limit: int,
    killed: bool,
    kept: bool,
) -> None:
    class Seen:
        expired = False

        def __init__(self, *_: object) -> None:
            self.killed = killed

        def __enter__(self) -> None: ...
        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(child, "KEPT", 100)
    monkeypatch.setattr(child, "Watch", Seen)
    monkeypatch.setattr(child.sessions, "anonymous", lambda pid: held if pid == StandIn.pid else 10**6)
    stand_in.answer = ("done", 3)
    assert asked.ask("m", Limits(LONG, limit)) == 3
    assert (asked._process is not None) is kept


def test_a_process_that_has_ended_while_it_waited_is_ended_and_another_is_asked(
    stand_in: type[StandIn], asked: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []
    monkeypatch.setattr(child.sessions, "kill", killed.append)
    stand_in.answer = ("done", 1)
    asked.ask("m", Limits(LONG))
    first = asked._process
    assert first is not None
    asked.ask("m", Limits(LONG))
    assert (asked._process, killed) == (first, [])
    monkeypatch.setattr(first, "has_ended", True, raising=False)
    asked.ask("m", Limits(LONG))
    assert asked._process is not first
    assert killed == [StandIn.pid]


@pytest.mark.parametrize(
    ("used", "stopped", "ended", "passed"),
    [
        (8, False, False, False),
        (9, False, False, True),
        (8, True, False, True),
        (8, False, True, True),
    ],
    ids=["within its memory", "above it", "stopped", "ended"],
)
def test_a_model_is_ended_above_its_memory_when_it_is_called_off_and_when_its_process_is_gone(
    monkeypatch: pytest.MonkeyPatch, used: int, stopped: bool, ended: bool, passed: bool
) -> None:
    stop, process = threading.Event(), StandIn()
    process.has_ended = ended
    if stopped:
        stop.set()
    monkeypatch.setattr(child.sessions, "used", lambda _: used)
    bounds = child._Bounds(process, Limits(1.0, 8), stop)  # type: ignore[arg-type]
    assert bounds._are_passed() is passed
    assert bounds._heavy is (used > 8)
    monkeypatch.setattr(child.memory, "available", lambda: 77)
    assert child._Bounds(process, Limits(1.0), stop).bytes == 77  # type: ignore[arg-type]

"""A runtime's process ends with whoever started it, and what it left in temporary files goes too."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from graphfix.runtimes import pipes
from graphfix.runtimes.process import Child
from tests.support.notation import model


@pytest.fixture(autouse=True)
def _not_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process itself, not what stands in for it in other tests."""
    monkeypatch.setattr(pipes, "subprocess", subprocess)


AT_ONCE = 3
"""Seconds; a process that is not killed is waited for longer."""


def loaded(child: Child) -> int:
    """The number of a child's process, with a model in it."""
    child.load(model("y[2] = Neg(x[2])").SerializeToString())
    assert child._process is not None
    return child._process.pid


def stopped(child: Child) -> int:
    """The same of one that does not hear that its input has ended."""
    pid = loaded(child)
    os.kill(pid, signal.SIGSTOP)
    return pid


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def interrupted_with(child: Child) -> int:
    with child:
        pid = stopped(child)
        raise KeyboardInterrupt(pid)


def test_an_interrupt_does_not_wait_for_a_run_to_end() -> None:
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as raised:
        interrupted_with(Child())
    assert time.monotonic() - begun < AT_ONCE
    assert not is_there(raised.value.args[0])


def test_the_temporary_files_of_a_killed_process_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Child() as child:
        pid = loaded(child)
        (scratch,) = tmp_path.iterdir()
        environment = Path(f"/proc/{pid}/environ")
        if environment.exists():
            assert f"TMPDIR={scratch}".encode() in environment.read_bytes().split(b"\0")
        (scratch / "a copy").touch()
        os.kill(pid, signal.SIGKILL)
    assert list(tmp_path.iterdir()) == []

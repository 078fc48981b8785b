"""Run a command as a whole process: its seconds, its processors' seconds and its peak, or why it did not end well.

The standard library alone: the kernel counts what the parent holds at the fork into the child's peak.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from peers.record import MIB, Run

UNIT = 1 if sys.platform == "darwin" else 1024
LONGEST_LINE = 160


class FailedError(Exception):
    """A process did not end well: one line that says how."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that came to an end: what it took, how it ended, and what it printed."""

    run: Run
    status: int
    """Its exit status, or the negative number of the signal that ended it."""
    said: str
    """On stdout."""
    blamed: str = ""
    """On stderr."""
    late: bool = False
    """Whether it was killed since it took too long."""


def timed(command: Sequence[str], limit: float, folder: Path | None = None) -> tuple[Run, str]:
    """Run a command that has to end well; return what it took and what it printed on stdout. Raises FailedError."""
    ended = ran(command, limit, folder)
    if ended.late or ended.status:
        raise FailedError(why(ended, limit))
    return ended.run, ended.said


def ran(command: Sequence[str], limit: float, folder: Path | None = None) -> Ended:
    """Run a command. Beyond `limit` seconds it is killed with all that it started."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            cwd=folder,
            env=environment(),
            start_new_session=True,
        )
        late = threading.Event()
        timer = threading.Timer(limit, _kill, (child.pid, late))
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        timer.cancel()
        timer.join()
        child.returncode = os.waitstatus_to_exitcode(status)
        said, blamed = _text(output), _text(errors)
    run = Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * UNIT)
    return Ended(run, child.returncode, said, blamed, late.is_set())


def why(ended: Ended, limit: float) -> str:
    """Say why a process did not end well: the limit, the signal, else the last line that it printed."""
    if ended.late:
        return f"longer than {limit:g} s"
    if ended.status < 0:
        return f"ended by {signal.Signals(-ended.status).name}"
    lines = [line.strip() for line in (ended.blamed or ended.said).splitlines() if any(map(str.isalnum, line))]
    return (lines[-1] if lines else f"exit status {ended.status}")[:LONGEST_LINE]


def environment() -> Mapping[str, str]:
    """The caller's environment without what would change how Python starts: as a user's shell has it."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}


def floor() -> float:
    """The MiB that no child's peak is below: what this process holds."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT / MIB


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace").strip()


def _kill(process: int, late: threading.Event) -> None:
    late.set()
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)

"""Run a command as a whole process, and return its time, its CPU time and its peak, or the reason of its failure.

This module imports only the standard library, because the kernel counts the parent's memory at the fork as part of the
child's peak.
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
    """A process failed or took too long; the message is one line with the reason."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that has ended: its measurements, how it ended, and its output."""

    run: Run
    status: int
    """The exit status, or the negative number of the signal that ended the process."""
    said: str
    """The output on stdout."""
    blamed: str = ""
    """The output on stderr."""
    late: bool = False
    """Whether the process was killed because it took too long."""


def timed(command: Sequence[str], limit: float, folder: Path | None = None) -> tuple[Run, str]:
    """Run a command, and return its measurements and its output on stdout.

    Raise FailedError if the exit status is not 0 or the process takes longer than `limit` seconds.
    """
    ended = ran(command, limit, folder)
    if ended.late or ended.status:
        raise FailedError(why(ended, limit))
    return ended.run, ended.said


def ran(command: Sequence[str], limit: float, folder: Path | None = None) -> Ended:
    """Run a command in `folder`, and return how it ended.

    After `limit` seconds, the process and all processes that it started are killed.
    """
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
    """Return why a process failed: the time limit, the signal, or the last line of its output."""
    if ended.late:
        return f"longer than {limit:g} s"
    if ended.status < 0:
        return f"ended by {signal.Signals(-ended.status).name}"
    lines = [line.strip() for line in (ended.blamed or ended.said).splitlines() if any(map(str.isalnum, line))]
    return (lines[-1] if lines else f"exit status {ended.status}")[:LONGEST_LINE]


def environment() -> Mapping[str, str]:
    """Return the environment variables without those for Python, so that Python starts as in a user's shell."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}


def floor() -> float:
    """Return the peak of this process in MiB, below which no child's peak can be measured."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT / MIB


def _text(file: IO[bytes]) -> str:
    """Return the content of a file from its beginning, as text."""
    file.seek(0)
    return file.read().decode(errors="replace").strip()


def _kill(process: int, late: threading.Event) -> None:
    """Record in `late` that the process took too long, and kill the process with all processes of its group."""
    late.set()
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)

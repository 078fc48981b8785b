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
from pathlib import Path
from typing import IO

from peers.record import MIB, Run

UNIT = 1 if sys.platform == "darwin" else 1024
LONGEST_LINE = 160


class FailedError(Exception):
    """A process did not end well: one line that says how."""


def timed(command: Sequence[str], limit: float, folder: Path | None = None) -> tuple[Run, str]:
    """Run a command; return what it took and what it printed on stdout. Raises FailedError.

    Beyond `limit` seconds it is killed with all that it started.
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
    if late.is_set():
        raise FailedError(f"longer than {limit:g} s")
    if child.returncode:
        raise FailedError(_why(child.returncode, blamed or said))
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * UNIT), said


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


def _why(status: int, said: str) -> str:
    """Say the signal that ended a process, else the last line that it printed."""
    if status < 0:
        return f"ended by {signal.Signals(-status).name}"
    lines = [line.strip() for line in said.splitlines() if any(map(str.isalnum, line))]
    return (lines[-1] if lines else f"exit status {status}")[:LONGEST_LINE]

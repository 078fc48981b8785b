"""The processes of a session: a child of a batch and all processes that it has started, even after the child's end."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import Final

import psutil

PAUSE: Final = 0.005
"""Seconds between two checks whether killed processes have ended."""
PATIENCE: Final = 2.0
"""The most seconds to wait for killed processes."""


def kill(session: int) -> None:
    """Kill all processes of a session except the caller, and wait for them, because their files are removed next.

    If the system does not list its processes (Linux without /proc), the group of the session's first process is killed
    instead; this includes the caller if it is in that group.
    """
    if _processes() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(session, signal.SIGKILL)
        return
    end = time.monotonic() + PATIENCE
    while left := [pid for pid in running(session) if pid != os.getpid()]:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > end:
            return
        time.sleep(PAUSE)


def used(session: int) -> int:
    """Return the bytes of memory of all processes of a session, without mapped files.

    The pages of a mapped model count as resident memory of a process, but the system frees them when it needs memory.
    Return 0 if the system does not list its processes; a limit of memory then has no effect.
    """
    return sum(map(anonymous, members(session)))


def members(session: int) -> list[int]:
    """Return the processes of a session. A process stays in its session even if its parent has ended."""
    return [pid for pid in _processes() or () if _session(pid) == session]


def _processes() -> list[int] | None:
    """Return the ids of all processes; None if the system does not list them."""
    try:
        return list(psutil.pids())
    except (OSError, IndexError):  # IndexError: /proc is an empty folder
        return None


def running(session: int) -> list[int]:
    """Return the members of a session that still run.

    A process that has ended but was not waited for is not among them.
    """
    return [pid for pid in members(session) if _runs(pid)]


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _session(pid: int) -> int | None:
    """Return the session of a process: 0 if it was started outside of this container; None if the process has ended."""
    try:
        return os.getsid(pid)
    except OSError:
        return None


def anonymous(pid: int) -> int:
    """Return the bytes of one process without mapped files; 0 if it has ended or the system lists no processes."""
    try:
        info = psutil.Process(pid).memory_info()
    except (psutil.Error, OSError, IndexError):
        return 0
    return int(info.rss - getattr(info, "shared", 0))  # macOS does not say what is shared

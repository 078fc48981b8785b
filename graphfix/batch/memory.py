"""How much memory there is, and how much a process and all that it has started need."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import psutil

PROC: Final = Path("/proc")
CGROUPS: Final = Path("/sys/fs/cgroup")


def share(jobs: int) -> int:
    """Bytes that each of so many jobs at once may use."""
    return available() // jobs


def available(proc: Path = PROC, cgroups: Path = CGROUPS) -> int:
    """Bytes that this machine has, or the container where that has fewer."""
    return min([int(psutil.virtual_memory().total), *_limits(proc, cgroups)])


def _limits(proc: Path, cgroups: Path) -> list[int]:
    """What the control groups of this process allow, of either version (cgroups(7)); each counts for those below it.

    Inside a container the path may be the host's, which is not there: the container's own group is the root then.
    """
    try:
        lines = (proc / "self/cgroup").read_text().splitlines()
    except OSError:
        return []  # no Linux
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        version1 = "memory" in controllers.split(",")
        if controllers and not version1:
            continue
        root, name = (cgroups / "memory", "memory.limit_in_bytes") if version1 else (cgroups, "memory.max")
        group = root / path.lstrip("/")
        found += [_number(each / name) for each in (group, *group.parents) if each.is_relative_to(root)]
    return [number for number in found if number]


def _number(file: Path) -> int:
    """The limit in a file; 0 where there is none."""
    try:
        text = file.read_text().strip()
    except OSError:
        return 0
    return int(text) if text.isdigit() else 0  # `max`


def used(session: int) -> int:
    """Bytes of memory of all processes of a session, without the files that they have mapped.

    The pages of a mapped model count as the process's (rss), and go when the system needs room.
    """
    return sum(map(_anonymous, members(session)))


def members(session: int) -> list[int]:
    """The processes of a session: whom a process has started stays in it, also when the one in between is gone."""
    return [pid for pid in psutil.pids() if _session(pid) == session]


def running(session: int) -> list[int]:
    """Those of its members that still run: one that has ended, and that nobody has asked how, is none."""
    return [pid for pid in members(session) if _runs(pid)]


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:  # it has ended meanwhile
        return 0


def _anonymous(pid: int) -> int:
    try:
        info = psutil.Process(pid).memory_info()
    except psutil.Error:
        return 0
    return int(info.rss - getattr(info, "shared", 0))  # macOS does not say what is shared

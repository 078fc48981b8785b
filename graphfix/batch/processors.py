"""How many processors this process may use at once."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
CGROUPS: Final = Path("/sys/fs/cgroup")


def available(proc: Path = PROC, cgroups: Path = CGROUPS) -> int:
    """Those that it may run on, and no more than the share of time that its container has."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([allowed, *_shares(proc, cgroups)]))


def _shares(proc: Path, cgroups: Path) -> Iterator[int]:
    """What the control groups of this process allow (version 2, cgroups(7)); each counts for those below it."""
    try:
        lines = (proc / "self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return  # no Linux
    for line in lines:
        if line.startswith("0::"):
            group = cgroups / line.removeprefix("0::").lstrip("/")
            yield from (_share(each / "cpu.max") for each in (group, *group.parents) if each.is_relative_to(cgroups))


def _share(file: Path) -> int:
    """`150000 100000`, microseconds of every so many: two processors at times; a great number where none is said."""
    try:
        quota, _, period = file.read_text(encoding="ascii").strip().partition(" ")
    except OSError:
        return os.cpu_count() or 1
    return math.ceil(int(quota) / int(period)) if quota.isdigit() and period.isdigit() else os.cpu_count() or 1

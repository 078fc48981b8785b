"""How many processors this process may use at once."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

from graphfix.runtimes.memory import CGROUPS, PROC, limit_files


def available(proc: Path = PROC, cgroups: Path = CGROUPS) -> int:
    """Those that it may run on, and no more than the share of time that its container has."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([allowed, *map(_share, limit_files("cpu.max", None, proc, cgroups))]))


def _share(file: Path) -> int:
    """`150000 100000`, microseconds of every so many: two processors at times; a great number where none is said."""
    with suppress(OSError):
        quota, _, period = file.read_text(encoding="ascii").strip().partition(" ")
        if quota.isdigit() and period.isdigit():
            return math.ceil(int(quota) / int(period))
    return os.cpu_count() or 1

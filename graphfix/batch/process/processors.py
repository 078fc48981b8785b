"""Determine how many processors this process may use at once."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

from graphfix.runtimes.memory import CGROUPS, PROC, limit_files


def available(proc: Path = PROC, cgroups: Path = CGROUPS) -> int:
    """Return the number of processors on which the process may run, limited by the share of its container."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([allowed, *map(_share, limit_files("cpu.max", None, proc, cgroups))]))


def _share(file: Path) -> int:
    """Return the processors of a cgroup file such as `150000 100000` (quota and period in microseconds), rounded up.

    Return the number of all processors if the file has no limit.
    """
    with suppress(OSError):
        quota, _, period = file.read_text(encoding="ascii").strip().partition(" ")
        if quota.isdigit() and period.isdigit():
            return math.ceil(int(quota) / int(period))
    return os.cpu_count() or 1

"""How much memory there is for the models of a batch."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

from graphfix.batch.cgroups import CGROUPS, PROC, files


def share(jobs: int) -> int:
    """Bytes that each of so many jobs at once may use."""
    return available() // jobs


def available(proc: Path = PROC, cgroups: Path = CGROUPS) -> int:
    """Bytes that this machine has, or the container where that has fewer."""
    limits = map(_number, files("memory.max", ("memory", "memory.limit_in_bytes"), proc, cgroups))
    return min([_machine_memory(), *filter(None, limits)])


def _machine_memory() -> int:
    """Return the bytes of memory of this machine, also if /proc is not mounted."""
    try:
        return int(psutil.virtual_memory().total)
    except OSError:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _number(file: Path) -> int:
    """The limit in a file; 0 where there is none."""
    try:
        text = file.read_text().strip()
    except OSError:
        return 0
    return int(text) if text.isdigit() else 0  # `max`

"""How much memory there is for the models of a batch."""

from __future__ import annotations

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

"""Find the files with the limits of this process's control groups (cgroups(7)), versions 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
CGROUPS: Final = Path("/sys/fs/cgroup")


def files(name: str, version1: tuple[str, str] | None, proc: Path, cgroups: Path) -> Iterator[Path]:
    """Yield the files of this name, from the group of the process up to the root: a limit holds for all groups below.

    `version1` is a controller and the name of its file, where groups of version 1 are asked too. Inside a container the
    path may be the host's, which is not there: the container's own group is the root then.
    """
    try:
        lines = (proc / "self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return  # no Linux
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield from _up(cgroups, path, name)
        elif version1 is not None and version1[0] in controllers.split(","):
            yield from _up(cgroups / version1[0], path, version1[1])


def _up(root: Path, path: str, name: str) -> Iterator[Path]:
    group = root / path.lstrip("/")
    return (each / name for each in (group, *group.parents) if each.is_relative_to(root))

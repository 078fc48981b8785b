"""Read and limit memory: the memory of the machine, of a container (control groups, cgroups(7)), and of a process."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
CGROUPS: Final = Path("/sys/fs/cgroup")


def limit_files(name: str, version1: tuple[str, str] | None, proc: Path, cgroups: Path) -> Iterator[Path]:
    """Yield the path of the file `name` in this process's control group and in each group above it, up to the root.

    A limit of a group applies to all groups below it. `version1` is a controller of cgroups version 1 and the name of
    its limit file; with None, groups of version 1 are not read. Inside a container, the path may be the host's, which
    does not exist there. The root is then the container's own group. So some yielded paths may not exist.
    """
    try:
        lines = (proc / "self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return  # This system is not Linux.
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield from _up(cgroups, path, name)
        elif version1 is not None and version1[0] in controllers.split(","):
            yield from _up(cgroups / version1[0], path, version1[1])


def _up(root: Path, path: str, name: str) -> Iterator[Path]:
    """Yield the paths of the files `name` in the group `path` and in all groups above it, up to `root`."""
    group = root / path.lstrip("/")
    return (each / name for each in (group, *group.parents) if each.is_relative_to(root))


def available(proc: Path = PROC, cgroups: Path = CGROUPS) -> int:
    """Return the size of this machine's memory in bytes, or the container's limit if it is smaller."""
    return min([_machine_memory(), *_allowed(proc, cgroups)])


def unused(proc: Path = PROC, cgroups: Path = CGROUPS) -> int:
    """Return the bytes of memory that are free, at most the limit of the container."""
    import psutil  # The import is here because few models need it, and it takes 0.01 s.

    try:
        free = int(psutil.virtual_memory().available)
    except OSError:
        free = _machine_memory()
    return min([free, *_allowed(proc, cgroups)])


def data_of(pid: int, proc: Path = PROC) -> int:
    """Return the bytes of data memory (data and stack) that a process uses; 0 if the system does not report it."""
    try:
        return int((proc / str(pid) / "statm").read_text().split()[5]) * mmap.PAGESIZE
    except OSError:
        return 0


@contextmanager
def limited(pid: int, most: int) -> Iterator[None]:
    """Limit the data memory of a process to `most` bytes inside a `with` block. Only Linux supports this.

    An allocation beyond the limit fails as if the machine had no more memory. If the system does not permit a new limit
    (for example below a hard limit, `ulimit -Hd`), the process is not limited.
    """
    try:
        import resource
    except ImportError:  # Windows
        yield
        return
    if not hasattr(resource, "prlimit"):  # macOS
        yield
        return
    with suppress(OSError):  # If the process has ended, the caller notices that at its next request.
        resource.prlimit(pid, resource.RLIMIT_DATA, (most, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        with suppress(OSError):
            resource.prlimit(pid, resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _allowed(proc: Path, cgroups: Path) -> list[int]:
    """Return all memory limits of the control groups of this process, in bytes."""
    limits = map(_number, limit_files("memory.max", ("memory", "memory.limit_in_bytes"), proc, cgroups))
    return [*filter(None, limits)]


def _machine_memory() -> int:
    """Return the size of this machine's memory in bytes, even if /proc is not mounted."""
    import psutil  # The import is here because few models need it, and it takes 0.01 s.

    try:
        return int(psutil.virtual_memory().total)
    except OSError:
        # Windows has no sysconf. Its psutil reads no /proc, so this error is unexpected there.
        if not hasattr(os, "sysconf"):
            raise
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _number(file: Path) -> int:
    """Return the limit in a file; 0 if the file does not exist or contains no number (`max`)."""
    try:
        text = file.read_text().strip()
    except OSError:
        return 0
    return int(text) if text.isdigit() else 0  # The text may be `max`, which is no limit.

"""How much memory there is: the least of what the machine has and what its control groups allow, of both versions."""

from __future__ import annotations

import mmap
import os
import sys
from pathlib import Path

import psutil
import pytest

from graphfix.runtimes import memory

MACHINE = psutil.virtual_memory().total
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the data of another process")


def groups(folder: Path, line: str, limits: dict[str, str]) -> tuple[Path, Path]:
    """What the system shows a process of the group that the line names."""
    (folder / "self").mkdir()
    (folder / "self/cgroup").write_text(line)
    for name, text in limits.items():
        (folder / "groups" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "groups" / name).write_text(text)
    return folder, folder / "groups"


@pytest.mark.parametrize(
    ("line", "limits", "number"),
    [
        ("0::/a/b\n", {"a/b/memory.max": "max\n", "a/memory.max": "3000\n", "memory.max": "4000\n"}, 3000),
        ("0::/\n", {"memory.max": "5000\n"}, 5000),
        ("0::/../..\n", {"memory.max": "5000\n"}, 5000),
        ("0::/of/the/host\n", {"memory.max": "5000\n"}, 5000),
        ("9:cpu:/a\n4:memory:/a\n", {"memory/a/memory.limit_in_bytes": "6000\n", "memory.max": "1\n"}, 6000),
        ("4:memory:/host\n", {"memory/memory.limit_in_bytes": "6000\n"}, 6000),
        ("4:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, MACHINE),
        ("0::/a\n", {"a/memory.max": "max\n"}, MACHINE),
        ("0::/a\n", {}, MACHINE),
    ],
    ids=[
        "the group above",
        "a container",
        "outside of its root",
        "the host's path",
        "version 1",
        "version 1, a container",
        "version 1, no limit",
        "no limit",
        "no such group",
    ],
)
def test_the_least_limit_counts(tmp_path: Path, line: str, limits: dict[str, str], number: int) -> None:
    proc, cgroups = groups(tmp_path, line, limits)
    assert memory.available(proc, cgroups) == number
    assert 0 < memory.unused(proc, cgroups) <= number


def test_a_system_without_control_groups_has_what_the_machine_has(tmp_path: Path) -> None:
    assert memory.available(tmp_path, tmp_path) == MACHINE


def test_a_machine_without_proc_has_the_memory_that_the_system_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail() -> None:
        raise FileNotFoundError(2, "No such file or directory", "/proc/meminfo")

    known = memory.available(tmp_path, tmp_path)
    monkeypatch.setattr(psutil, "virtual_memory", fail)
    assert memory.available(tmp_path, tmp_path) == pytest.approx(known, rel=0.05)


@ON_LINUX
@pytest.mark.parametrize("error", [PermissionError(1, "not permitted"), ProcessLookupError(3, "no such process")])
def test_a_process_whose_limits_can_t_be_changed_runs_without_a_limit(
    monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    import resource  # Windows has none

    asked: list[tuple[object, ...]] = []

    def refuse(*arguments: object) -> None:
        asked.append(arguments)
        raise error

    monkeypatch.setattr(resource, "prlimit", refuse)
    with memory.limited(os.getpid(), 1 << 40):
        before = len(asked)
    assert (before, len(asked)) == (1, 2)


@ON_LINUX
def test_the_limit_of_a_process_holds_inside_and_ends_behind() -> None:
    import resource  # Windows has none

    unlimited = resource.getrlimit(resource.RLIMIT_DATA)
    with memory.limited(os.getpid(), 1 << 45):
        assert resource.getrlimit(resource.RLIMIT_DATA)[0] == 1 << 45
    assert resource.getrlimit(resource.RLIMIT_DATA) == unlimited
    assert 0 < memory.data_of(os.getpid()) < 1 << 45
    assert memory.data_of(1 << 30) == 0


def test_the_data_of_a_process_is_what_the_system_says(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "statm").write_text("10 20 30 40 50 60 70\n")
    assert memory.data_of(7, tmp_path) == 60 * mmap.PAGESIZE
    assert memory.data_of(8, tmp_path) == 0

"""How many models are done at once where nobody says so: no more than the container's share of processors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graphfix.batch.process import processors

ALLOWED = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.mark.parametrize(
    ("quotas", "expected"),
    [
        ({}, ALLOWED),
        ({"cpu.max": "max 100000"}, ALLOWED),
        ({"cpu.max": "100000 100000"}, 1),
        ({"a/b/cpu.max": "50000 100000"}, 1),
        ({"a/cpu.max": "50000 100000", "a/b/cpu.max": "max 100000"}, 1),
        ({"other/cpu.max": "50000 100000"}, ALLOWED),
        ({"cpu.max": f"{ALLOWED * 900_000} 100000"}, ALLOWED),
        ({"cpu.max": "nonsense"}, ALLOWED),
        ({"cpu.max": "0 100000"}, 1),
        ({"cpu.max": "100001 100000"}, min(ALLOWED, 2)),
        ({"cpu.max": "50000 max"}, ALLOWED),
        ({"cpu.max": "max 100000", "a/cpu.max": "100000 100000", "a/b/cpu.max": f"{ALLOWED * 900_000} 100000"}, 1),
    ],
)
def test_the_quotas_of_the_control_groups_count(tmp_path: Path, quotas: dict[str, str], expected: int) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("1:cpu:/x\n0::/a/b\n")
    for name, text in quotas.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    assert processors.available(tmp_path / "proc", tmp_path / "groups") == expected


def test_without_control_groups_the_affinity_counts(tmp_path: Path) -> None:
    assert processors.available(tmp_path, tmp_path) == ALLOWED

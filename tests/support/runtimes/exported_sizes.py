"""Looks at exported models while they run: which nodes with a stretch at run time any size stretches."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sizes_tables.observed import operand, run_onnx, run_tflite

from tests.support import child

Place = tuple[str, str]
"""A node by its graph and its name."""


@dataclass(frozen=True)
class Job:
    """A model, and the sites (as a report has them) whose nodes are looked at."""

    path: str
    sites: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Looked:
    """What the sizes of the model's users, and each free size at 1, showed of these nodes."""

    seen: frozenset[Place]
    stretched: frozenset[Place]


def look(jobs: Sequence[Job]) -> list[Looked]:
    """Run each model; answers stand in the order of the jobs."""
    found: list[tuple[Looked | None, str]] = child.asked(__name__, list(jobs))
    assert [error for _, error in found if error] == []
    return [looked for looked, _ in found if looked is not None]


# --- in the other process ---------------------------------------------------------------------------------------------


def serve(jobs: Sequence[Job]) -> list[tuple[Looked | None, str]]:
    """Run each model where an abort ends a fork and no more."""
    return child.in_forks(jobs, _looked)


def _looked(job: Job) -> Looked:
    path = Path(job.path)
    run = run_onnx if path.suffix == ".onnx" else run_tflite
    lines = [json.loads(line) for line in run(path, [operand(site) for site in job.sites], [])]
    seen, stretched = (
        frozenset((graph, node) for line in lines for graph, node in line[key]) for key in ("seen", "stretched")
    )
    return Looked(seen, stretched)

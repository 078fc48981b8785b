"""What is measured, as records that are kept as JSON: docs/benchmarks.json, from which the page is written."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Run:
    """One process from its start to its end: seconds of the clock and of the processors, and its peak in bytes."""

    seconds: float
    cpu: float
    peak: int


@dataclass(frozen=True, slots=True)
class Quality:
    """What became of a model: both run in onnxruntime without optimizations, or in LiteRT's reference kernels.

    `ranks` counts operands of broadcasting operators that have another rank than the result, `stretched` those that are
    repeated along an axis; both at run time, in bodies too.
    """

    loads: bool
    """It loads and runs in the runtime."""
    equal: bool | None = None
    """Bit-equal outputs; None where the original can't be run, or the result is the original."""
    ranks: int | None = None
    stretched: int | None = None
    nodes: int | None = None
    reason: str = ""
    """Why it does not run, is not equal, or was not observed."""
    operators: Mapping[str, int] = field(default_factory=dict)
    """Operands that are counted, by operator."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What one peer did with one model."""

    runs: tuple[Run, ...] = ()
    failure: str = ""
    """The signal, the last line of what it said, or the time limit; empty where it came to an end."""
    bytes: int = 0
    """Of what it wrote."""
    quality: Quality | None = None

    @property
    def seconds(self) -> float | None:
        """Median seconds of the clock."""
        return statistics.median(run.seconds for run in self.runs) if self.runs else None

    @property
    def cpu(self) -> float | None:
        """Median seconds of the processors, user and system."""
        return statistics.median(run.cpu for run in self.runs) if self.runs else None

    @property
    def mib(self) -> float | None:
        """Median peak of the resident set."""
        return statistics.median(run.peak for run in self.runs) / MIB if self.runs else None


@dataclass(frozen=True, slots=True)
class Row:
    """One model, and each peer's cell by the peer's name; a peer that is not installed has none."""

    model: str
    format: str
    group: str
    """`zoo`, or `made`: what scripts/bench.py builds or models/ holds."""
    bytes: int
    cells: Mapping[str, Cell] = field(default_factory=dict)
    original: Quality | None = None
    measured: str = ""
    """The day and the processor."""


@dataclass(frozen=True, slots=True)
class Results:
    """All that the page is written from. `verification` is the second table's: records of its own, as JSON."""

    rows: tuple[Row, ...] = ()
    machine: Mapping[str, str] = field(default_factory=dict)
    """What the computer is: processor, memory, system, Python."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """By package."""
    method: Mapping[str, str] = field(default_factory=dict)
    """How it was measured: runs, limits, the day, the parent's own peak."""
    verification: Mapping[str, Any] = field(default_factory=dict)

    def merged(self, newer: Results) -> Results:
        """These results with newer ones over them: row by row, cell by cell."""
        rows = {row.model: row for row in self.rows}
        for row in newer.rows:
            before = rows.get(row.model)
            cells = {**before.cells, **row.cells} if before else row.cells
            rows[row.model] = replace(row, cells=cells)
        return Results(
            tuple(rows.values()),
            newer.machine or self.machine,
            {**self.versions, **newer.versions},
            newer.method or self.method,
            newer.verification or self.verification,
        )


def measured(day: str, machine: Mapping[str, str]) -> str:
    """Say when and on what something is measured."""
    return f"{day}, {machine['processor']}"


def write(results: Results, path: Path) -> None:
    """Keep the results."""
    path.write_text(json.dumps(_rounded(asdict(results)), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> Results:
    """Read what was kept; nothing where there is no such file."""
    if not path.exists():
        return Results()
    kept = json.loads(path.read_text(encoding="utf-8"))
    return Results(**{**kept, "rows": tuple(_row(each) for each in kept["rows"])})


def _row(kept: Mapping[str, Any]) -> Row:
    cells = {name: _cell(each) for name, each in kept["cells"].items()}
    return Row(**{**kept, "cells": cells, "original": _maybe(_quality, kept["original"])})


def _cell(kept: Mapping[str, Any]) -> Cell:
    runs = tuple(Run(**each) for each in kept["runs"])
    return Cell(**{**kept, "runs": runs, "quality": _maybe(_quality, kept["quality"])})


def _quality(kept: Mapping[str, Any]) -> Quality:
    return Quality(**kept)


def _maybe(made: Callable[[Mapping[str, Any]], Quality], kept: Mapping[str, Any] | None) -> Quality | None:
    return None if kept is None else made(kept)


def _rounded(kept: Any) -> Any:  # noqa: ANN401 -- anything that JSON holds
    """Round seconds to tenths of a millisecond: more is noise, and the file is read by people."""
    if isinstance(kept, float):
        return round(kept, 4)
    if isinstance(kept, dict):
        return {key: _rounded(value) for key, value in kept.items()}
    return [_rounded(value) for value in kept] if isinstance(kept, (list, tuple)) else kept

"""Two files before the checker, with only those parts of a task named that a test is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from graphfix import checker
from graphfix.checker.files.pair import Pair
from graphfix.checker.task import Criterion, Task
from graphfix.results.progress import silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from graphfix.results import InputValue, Verdict
    from graphfix.results.claims import Claims
    from graphfix.results.progress import Progress


def verify(
    before: Path,
    after: Path,
    *,
    bindings: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    same: Sequence[Sequence[str]] = (),
    inputs: Path | None = None,
    runs: int = 4,
    seed: int = 0,
    atol: float | None = None,
    rtol: float | None = None,
    proof: Literal["with", "only", "without"] = "with",
    trust_stored: bool = False,
    values: Mapping[str, InputValue] | None = None,
    claims: Claims | None = None,
    thorough: bool = False,
    progress: Progress = silent,
) -> Verdict:
    """Ask the checker, with the defaults of `graphfix verify`."""
    pair = Pair(
        before,
        after,
        bindings=bindings or {},
        shapes=shapes or {},
        same=same,
        trust_stored=trust_stored,
        values=values or {},
    )
    task = Task(
        pair,
        inputs=inputs,
        runs=runs,
        seed=seed,
        criterion=Criterion(atol, rtol),
        proof=proof,
        progress=progress,
        claims=claims,
        thorough=thorough,
    )
    return checker.verify(task)

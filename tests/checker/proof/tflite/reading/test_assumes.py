"""What a proof assumes, and what LiteRT's own allocation shows of it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from graphfix.results import Verdict
from graphfix.results.progress import Progress, silent
from models.builders.tflite.text import model
from tests.support.checked import verify

STORED = "the stored shapes of the first file's tensors"
COMPARING = "comparing the stored shapes with LiteRT's"
STATIC = "s[2,3] = SOFTMAX(x[2,3])"
IMPLICIT, LIFTED = "y[2,3] = ADD(x, b[3])", "c[1,3] = RESHAPE(b[3], to:const[2]{1,3})\ny[2,3] = ADD(x, c)"


def verdict_of(
    folder: Path, head: str, proof: Literal["with", "only"] = "with", progress: Progress = silent
) -> Verdict:
    """Put the same lines before an ADD and before the same ADD with its operand lifted."""
    paths = folder / "a.tflite", folder / "b.tflite"
    for path, text in zip(paths, (IMPLICIT, LIFTED), strict=True):
        path.write_bytes(model(f"{head}\n{text}"))
    return verify(*paths, runs=1, proof=proof, progress=progress)


def into(said: list[str]) -> Progress:
    def heard(text: str, _done: int = 0, _total: int = 0, /) -> None:
        said.append(text)

    return heard


def test_shapes_that_litert_allocates_are_not_assumed(tmp_path: Path) -> None:
    said: list[str] = []
    verdict = verdict_of(tmp_path, STATIC, progress=into(said))
    assert (verdict.status, verdict.assumes) == ("proved", ())
    assert verdict.proof is not None
    assert verdict.proof["assumes"] == [STORED]
    assert (said[0], said[-1]) == ("proving", COMPARING)


def test_without_runs_the_stored_shapes_are_assumed(tmp_path: Path) -> None:
    said: list[str] = []
    verdict = verdict_of(tmp_path, STATIC, "only", into(said))
    assert (verdict.status, verdict.assumes) == ("proved", (STORED,))
    assert said == ["proving"]


def test_no_shapes_are_compared_where_none_are_assumed(tmp_path: Path) -> None:
    said: list[str] = []
    verdict = verdict_of(tmp_path, "s[2,3] = NEG(x[2,3])", progress=into(said))
    assert (verdict.status, verdict.assumes) == ("proved", ())
    assert COMPARING not in said


@pytest.mark.parametrize(
    "head",
    [
        "s[2,7] = SOFTMAX(x[2,3])",  # LiteRT plans 2 by 3
        "g:bool[2,3] = GREATER(x[2,3], b[3])\nw:int64[5,2] = WHERE(g)",  # follows from values
        "q[?,3] = SOFTMAX(p[?,3])\nr[2,3] = NEG(x[2,3])",  # one allocation is of one size
    ],
    ids=["contradicted", "of values", "free"],
)
def test_shapes_that_litert_does_not_show_stay_assumed(tmp_path: Path, head: str) -> None:
    verdict = verdict_of(tmp_path, head)
    assert {run.status for run in verdict.runs} == {"equal"}
    assert (verdict.status, verdict.assumes) == ("proved", (STORED,))

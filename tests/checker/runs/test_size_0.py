"""Runs at a size of 0 are excused where a complete proof assumes 0 away, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import onnx
import pytest

from graphfix import api
from graphfix.checker import proof
from graphfix.checker.proof import ABOUT_SIZE_0
from graphfix.checker.proof.result import Proof
from graphfix.checker.runs.exceptions import size_0
from graphfix.report.verdict import verdict_text
from graphfix.results import Run
from tests.support.checked import verify
from tests.support.places import MODELS

CDIST = MODELS / "exported" / "prototypes_cdist_legacy.onnx"
"""It reduces along -1, by which onnxruntime keeps all axes of a tensor without elements: a result of another rank."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    after = tmp_path_factory.mktemp("fixed") / "fixed.onnx"
    api.fix_file(CDIST, after, target="explicit", check_result=False)
    return CDIST, after


def test_the_file_is_proved_and_the_verdict_names_the_size(pair: tuple[Path, Path]) -> None:
    verdict = verify(*pair)
    assert verdict.status == "proved"
    assert [(entry["class"], entry["site"]) for entry in verdict.exceptions] == [("size-0", "batch=0")]
    assert not ABOUT_SIZE_0.isdisjoint(verdict.assumes)
    text = verdict_text(verdict)
    assert (
        "they differ at a size of 0 alone, which the proof assumes away; 1 exception of the runtime: size-0 at batch=0"
        in text
    )


def test_where_the_proof_says_nothing_of_0_the_run_counts(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "prove", lambda *_, **__: Proof("proved", assumes=("something else",)))
    assert verify(*pair).status == "different"
    assert verify(*pair, proof="without").status == "different"


def test_a_difference_at_another_size_counts(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = pair
    model = onnx.load(after)
    next(node for node in model.graph.node if node.op_type == "Add").op_type = "Sub"
    after = tmp_path / "wrong.onnx"
    onnx.save(model, after)
    monkeypatch.setattr(proof, "prove", lambda *_, **__: Proof("proved", assumes=tuple(ABOUT_SIZE_0)))
    assert verify(before, after).status == "different"


def test_where_0_is_what_is_asked_the_run_counts(pair: tuple[Path, Path]) -> None:
    assert verify(*pair, bindings={"batch": 0}).status == "different"


def ran(size: int, status: Literal["equal", "different", "undecided"]) -> Run:
    return Run({"N": size, "M": 3}, "off", status)


@pytest.mark.parametrize(
    ("runs", "excused"),
    [
        pytest.param([ran(3, "equal"), ran(0, "different")], True, id="equal elsewhere"),
        pytest.param([ran(3, "different"), ran(0, "different")], False, id="different elsewhere"),
        pytest.param([ran(3, "undecided"), ran(0, "different")], False, id="nothing known elsewhere"),
        pytest.param([ran(0, "equal"), ran(0, "different")], False, id="no other size"),
    ],
)
def test_only_runs_at_0_are_excused_beside_equal_ones(runs: Sequence[Run], excused: bool) -> None:
    assert (size_0(runs) is not None) == excused

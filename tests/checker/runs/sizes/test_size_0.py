"""Runs at a size of 0 are excused where a complete proof assumes 0 away, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import onnxruntime
import pytest

from graphfix import api
from graphfix.checker import proof
from graphfix.checker.proof import ABOUT_SIZE_0
from graphfix.checker.proof.core.result import Proof
from graphfix.checker.runs.comparing.exceptions import size_0
from graphfix.report.verdict import verdict_text
from graphfix.results import Run
from graphfix.results.runtime_facts import SIZE_0_KEEPS_AXES
from tests.support.checked import verify
from tests.support.notation import model
from tests.support.places import MODELS

CDIST = MODELS / "exported" / "prototypes_cdist_legacy.onnx"
"""It reduces along -1, by which some versions of onnxruntime keep all axes of a tensor without elements."""
COMPUTED = """
s:int64 = Shape(x[3,N])
n:int64 = Gather(s, one:const:int64[1]{1}, axis=0)
to:int64 = Concat(n, three:const:int64[1]{3}, axis=0)
y = Reshape(x, to)
"""
"""A Reshape to [N,3]: where N is 0 it stands for the operand's own size, 3, and onnxruntime refuses the model."""


@pytest.fixture(scope="module")
def cdist(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    after = tmp_path_factory.mktemp("fixed") / "fixed.onnx"
    api.fix_file(CDIST, after, target="explicit", check_result=False)
    return CDIST, after


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two models that differ where N is 0, and nowhere else, in every version of onnxruntime."""
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    before.write_bytes(model("y = Reshape(x[3,N], to:const{-1,3})").SerializeToString())
    after.write_bytes(model(COMPUTED).SerializeToString())
    return before, after


def proved(monkeypatch: pytest.MonkeyPatch, *assumes: str) -> None:
    """Have the proof say so, under these assumptions."""
    monkeypatch.setattr(proof, "prove", lambda *_, **__: Proof("proved", assumes=assumes))


@pytest.mark.ci
def test_a_reduction_of_nothing_is_excused_in_versions_that_keep_its_axes(cdist: tuple[Path, Path]) -> None:
    verdict = verify(*cdist)
    assert verdict.status == "proved"
    at_0 = [run.status for run in verdict.runs if run.bindings["batch"] == 0 and run.optimizations == "off"]
    ran = {"equal", "different"} & {*at_0}  # onnxruntime 1.22 divides by 0 and ends its process
    keeps = SIZE_0_KEEPS_AXES.holds(onnxruntime.__version__)
    assert ("different" in at_0) == (bool(ran) and keeps)
    excused = [("size-0", "batch=0")] if "different" in at_0 else []
    assert [(entry["class"], entry["site"]) for entry in verdict.exceptions] == excused
    assert not ABOUT_SIZE_0.isdisjoint(verdict.assumes)
    if ran:
        assert verify(*cdist, bindings={"batch": 0}).status == ("different" if keeps else "equal")


def test_what_differs_at_0_alone_is_proved_and_the_verdict_names_the_size(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    proved(monkeypatch, *ABOUT_SIZE_0)
    verdict = verify(*pair)
    assert verdict.status == "proved"
    assert [(entry["class"], entry["site"]) for entry in verdict.exceptions] == [("size-0", "N=0")]
    text = verdict_text(verdict)
    said = "they differ at a size of 0 alone, which the proof assumes away; 1 exception of the runtime: size-0 at N=0"
    assert said in text


def test_where_the_proof_says_nothing_of_0_the_run_counts(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    proved(monkeypatch, "something else")
    assert verify(*pair).status == "different"
    assert verify(*pair, proof="without").status == "different"


def test_a_difference_at_another_size_counts(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = tmp_path / "wrong.onnx"
    wrong.write_bytes(model(COMPUTED.replace("y = ", "r = ") + "y = Neg(r)").SerializeToString())
    proved(monkeypatch, *ABOUT_SIZE_0)
    assert verify(pair[0], wrong).status == "different"


def test_where_0_is_what_is_asked_the_run_counts(pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    proved(monkeypatch, *ABOUT_SIZE_0)
    assert verify(*pair, bindings={"N": 0}).status == "different"


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

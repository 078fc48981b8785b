"""`--dim N=2..64`: what a range decides is decided by it, in the rewriter, in the proof and in the runs."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx.parser
import pytest

import graphfix
from graphfix import api
from graphfix.results import GraphfixError
from tests.support.notation import model

RANGE = {"N": "2..64"}
SQUEEZED = "s[*] = Squeeze(x[N,1])\ng[*] = Sigmoid(s)\ny[*] = Mul(g, k:const[]{4.0})"


def written(folder: Path, opset: int = 17, ir_version: int = 8) -> Path:
    proto = model(SQUEEZED, opset=opset)
    proto.ir_version = ir_version
    if ir_version < 4:
        proto.graph.input.append(onnx.helper.make_tensor_value_info("k", onnx.TensorProto.FLOAT, []))
    path = folder / "before.onnx"
    onnx.save(proto, path)
    return path


@pytest.mark.parametrize(("opset", "ir_version"), [(11, 8), (17, 8), (13, 3)])
@pytest.mark.parametrize("target", ["explicit", "ranks"])
def test_a_rank_that_a_range_decides_is_fixed_and_proved_in_it(
    target: str, opset: int, ir_version: int, tmp_path: Path
) -> None:
    before, after = written(tmp_path, opset, ir_version), tmp_path / "after.onnx"
    outcome = api.fix_file(before, after, target=target, dims=RANGE)
    assert {site.status for site in outcome.sites} == {"changed"}
    verdict = outcome.verdict
    assert verdict is not None
    assert verdict.status == "proved", verdict.reason
    assert "N is 2 to 64, as asked for" in verdict.assumes
    assert {size for run in verdict.runs for size in run.bindings.values()} <= set(range(2, 65))
    assert not graphfix.check(after, target=target).sites  # without the range too: the axes are stated


@pytest.mark.ci
def test_without_the_range_the_result_is_neither_proved_nor_equal(tmp_path: Path) -> None:
    before, after = written(tmp_path), tmp_path / "after.onnx"
    api.fix_file(before, after, target="ranks", dims=RANGE)
    assert graphfix.verify(before, after, dims=RANGE).status == "proved"
    assert graphfix.verify(before, after, dims={"N": (1, 64)}).status == "different"
    assert graphfix.verify(before, after).status == "different"


@pytest.mark.ci
def test_a_range_that_decides_nothing_is_not_assumed(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model("y[N,3] = Add(x[N,3], b:const[3])"), path)
    outcome = api.fix_file(path, tmp_path / "o.onnx", dims={"N": (5, 7)})
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert outcome.verdict.assumes == ()
    assert {run.bindings["N"] for run in outcome.verdict.runs} <= {5, 6, 7}


def test_a_range_of_an_unknown_symbol_is_refused_by_verify_too(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(GraphfixError, match="--dim M: no input has a dim of that name"):
        graphfix.verify(path, path, dims={"M": (2, 64)})

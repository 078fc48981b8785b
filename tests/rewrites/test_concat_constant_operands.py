"""Constants that a Concat reads by way of an operator: plans, bits, proofs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
import pytest

import graphfix
from graphfix.graph.edits import New, Replace
from rewrites.tosa.concat_constant_operands import plan
from tests.support.bits import random_bits, same_bits
from tests.support.checked import verify
from tests.support.notation import model, node
from tests.support.runtimes.onnx_runs import run

if TYPE_CHECKING:
    from pathlib import Path

CONCAT = "y[2,5] = Concat(x[2,3], c:const[2,2]{1.0,2.0,3.0,4.0}, axis=1)"


def test_a_constant_is_the_greater_of_itself_and_itself() -> None:
    joined = node(CONCAT)
    x, c = joined.operands
    (edit,) = plan(joined)
    assert isinstance(edit, Replace)
    assert edit.node.operands == (x, New("Max", (c, c), c.shape, "float32"))  # type: ignore[arg-type,union-attr]  # both are given
    assert edit.node.attributes == (("axis", 1),)


def test_constants_alone_are_too_large_to_be_folded_by_then() -> None:
    joined = node("y[2,5] = Concat(x:const[2,3], c:const[2,2], axis=1)")
    (edit,) = plan(joined)
    assert isinstance(edit, Replace)
    assert [source.op for source in edit.node.operands if isinstance(source, New)] == ["Max", "Max"]


KEPT = {
    "no constant": "y[2,5] = Concat(x[2,3], c[2,2], axis=1)",
    "8 bits": "y:int8[2,5] = Concat(x:int8[2,3], c:const:int8[2,2]{1,2,3,4}, axis=1)",
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_nothing_is_done(text: str) -> None:
    assert list(plan(node(text))) == []


@pytest.mark.ci
@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "int64", "bool"])
def test_it_is_proved_and_done_once(dtype: str, tmp_path: Path) -> None:
    elements = "{True,False,True,True}" if dtype == "bool" else "{1,2,3,4}"
    text = f"y:{dtype}[2,5] = Concat(x:{dtype}[2,3], c:const:{dtype}[2,2]{elements}, axis=1)"
    before, after, again = (tmp_path / f"{name}.onnx" for name in ("before", "after", "again"))
    onnx.save(model(text), before)
    outcome = graphfix.fix_file(before, after, target="tosa")
    assert outcome.rewrites["concat-constant-operands"] == 1
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    graphfix.fix_file(after, again, target="tosa")
    assert {each.op_type for each in onnx.load(again).graph.node} == {"Concat", "Or" if dtype == "bool" else "Max"}
    assert graphfix.fix_file(again, tmp_path / "third.onnx", target="tosa").rewrites["concat-constant-operands"] == 0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
def test_the_greater_of_a_number_and_itself_is_that_number(dtype: str) -> None:
    x = random_bits(dtype, 40000)
    assert x.tobytes() == run(model(f"y:{dtype}[40000] = Max(x:{dtype}[40000], x)"), x=x)[0].tobytes()
    assert same_bits(x, x)


@pytest.mark.parametrize(
    "operator",
    ["Max(c:const[2,2]{1.0,2.0,3.0,4.0}, d:const[2,2]{1.0,2.0,3.0,5.0})", "Add(c:const[2,2]{1.0,2.0,3.0,4.0}, c)"],
    ids=["another constant", "another operator"],
)
def test_another_constant_is_not_proved(operator: str, tmp_path: Path) -> None:
    faulty = f"m[2,2] = {operator}\ny[2,5] = Concat(x[2,3], m, axis=1)"
    paths = tmp_path / "before.onnx", tmp_path / "after.onnx"
    for path, text in zip(paths, (CONCAT, faulty), strict=True):
        onnx.save(model(text), path)
    assert verify(*paths).status == "different"

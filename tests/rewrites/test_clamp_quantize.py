"""QUANTIZE of floats beyond the range: the plan, LiteRT's bits, and what TOSA makes of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import graphfix
from graphfix.graph.edits import New, Replace
from graphfix.shapes.dim import Shape
from models.builders.tflite.text import model, pack, tree
from rewrites.tosa.clamp_quantize import plan
from tests.support import engine
from tests.support.notation import node
from tests.support.runtimes.tosa_loop import litert_reference, needs_tools, prepared, ran, tflite
from tests.support.tflite.fixing import fixed

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = np.float32(
    [-np.inf, -3e9, -300, -65.5, -65.26, -64, -0.25, -0.0, 0, 0.25, 0.75, 61.9, 62, 62.24, 64.9, 3e4, 3e9, np.inf]
)


def test_it_is_cut_off_at_the_ends_of_the_type_once() -> None:
    assert fixed("y:int8[2,3] = QUANTIZE(x[2,3])", target="tosa").counts["clamp-quantize"] == 1


def test_what_the_plan_makes_has_the_shape_and_the_type_of_the_result() -> None:
    (node,) = engine.load(model("y:int8[2,3] = QUANTIZE(x[2,3])")).graphs[0].nodes
    (edit,) = plan(node)
    assert isinstance(edit, Replace)
    assert (edit.node.op, edit.node.shape, edit.node.dtype) == ("QUANTIZE", Shape((2, 3)), "int8")


STAYING = {
    "of whole numbers": "y:int8[4] = QUANTIZE(x:int16[4])",
    "to int16": "y:int16[4] = QUANTIZE(x[4])",
    "to uint8, which TOSA has not": "y:uint8[4] = QUANTIZE(x[4])",
    "cut off before": """
    a[4] = MINIMUM(h:const[]{62.0}, x[4])
    b[4] = MAXIMUM(l:const[]{-65.5}, a)
    y:int8[4] = QUANTIZE(b)
    """,
}


@pytest.mark.parametrize("text", STAYING.values(), ids=STAYING)
def test_nothing_is_done(text: str) -> None:
    assert "clamp-quantize" not in fixed(text, target="tosa").counts


def test_every_bit_is_the_same_in_litert_and_it_is_proved(tmp_path: Path) -> None:
    before, after = tflite(tmp_path, "y:int8[18] = QUANTIZE(x[18])"), tmp_path / "after.tflite"
    outcome = graphfix.fix_file(before, after, target="tosa")
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    # 3e9 is more than 2^31 steps away: the reference kernels wrap there, and others saturate
    x = np.where(WHOLE > 1e9, np.float32(np.nan), WHOLE)
    want, got = (litert_reference(path, {"x": x})["y"] for path in (before, after))
    np.testing.assert_array_equal(got, want)


def test_a_file_without_options_is_proved_too(tmp_path: Path) -> None:
    """The converter of TensorFlow writes none for a QUANTIZE: what the file does not say is not said after."""
    made = tree("y:int8[4] = QUANTIZE(x[4])")
    operator = made.subgraphs[0].operators[0]
    operator.builtinOptionsType, operator.builtinOptions = 0, None
    before = tmp_path / "m.tflite"
    before.write_bytes(pack(made))
    outcome = graphfix.fix_file(before, tmp_path / "after.tflite", target="tosa")
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"


@pytest.mark.ci
@needs_tools
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_tosa_saturates_too(dtype: str, tmp_path: Path) -> None:
    before = tflite(tmp_path, f"y:{dtype}[16] = QUANTIZE(x[16])")
    x = WHOLE[:16]
    want = litert_reference(before, {"x": x})["y"].astype(int)
    as_it_is = ran(before, x).outputs[0].astype(int)
    assert (np.abs(as_it_is - want).max() > 1) == (dtype == "int8"), "the converter does otherwise by now"
    assert np.abs(ran(prepared(before), x).outputs[0].astype(int) - want).max() <= 1


@pytest.mark.parametrize(
    "text",
    [
        "y:int8[4] = tflite.QUANTIZE(x[4])",
        "y:uint8[4] = tflite.QUANTIZE(x[4])",
        "y:int8[4] = tflite.QUANTIZE(x:int8[4])",
    ],
    ids=["no scale is known", "another type", "no floats"],
)
def test_nothing_is_planned_where_the_ends_are_not_known(text: str) -> None:
    assert list(plan(node(text))) == []


def test_nothing_is_planned_of_a_result_that_is_left_out() -> None:
    (quantize,) = engine.load(model("y:int8[4] = QUANTIZE(x[4])")).graphs[0].nodes
    assert list(plan(replace(quantize, results=(None,)))) == []


@pytest.mark.parametrize(
    "cut",
    [
        "a[4] = MINIMUM(h:const[]{62.0}, x[4])\nb[4] = MAXIMUM(l[], a)",
        "a[4] = MINIMUM(h[], x[4])\nb[4] = MAXIMUM(l:const[]{-65.5}, a)",
        "a[4] = MAXIMUM(l:const[]{-65.5}, x[4])\nb[4] = MINIMUM(h:const[]{62.0}, a)",
        "b[4] = MAXIMUM(l:const[]{-65.5}, x[4])",
        "a[4] = MINIMUM(h:const[]{62.0}, x[4])\nb[4] = MAXIMUM(a, l:const[]{-65.5})",
    ],
    ids=["by an input below", "by an input above", "the other way round", "below only", "in the other order"],
)
def test_what_is_cut_off_in_another_way_is_cut_off(cut: str) -> None:
    *_, quantize = engine.load(model(f"{cut}\ny:int8[4] = QUANTIZE(b)")).graphs[0].nodes
    (edit,) = plan(quantize)
    assert isinstance(edit, Replace)
    (cutting,) = edit.node.operands
    assert isinstance(cutting, New)
    assert cutting.op == "MAXIMUM"


def test_what_is_cut_off_above_and_below_by_constants_is_not_cut_off_again() -> None:
    *_, quantize = engine.load(model(STAYING["cut off before"])).graphs[0].nodes
    assert list(plan(quantize)) == []

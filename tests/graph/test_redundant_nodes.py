"""What nodes in front of a broadcasting reader pass on: through expansions, lifts, neutral numbers and carriers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfix.graph.redundant_nodes import asked_sizes, constant, does_nothing, passed_operand, sources
from graphfix.graph.view import Node, Value
from models.builders.tflite.text import model as tflite_model
from tests.support import engine
from tests.support.notation import model, node

QUANTIZED = "q:int8[2,3] = {front}\nd[2,3] = DequantizeLinear(q, {scale}{options})"
EXPANDED, LOWER = "Expand(x:int8[1,3], s:const{2,3})", "Expand(x:int8[3], s:const{2,3})"
SOURCES: dict[str, tuple[str, list[str]]] = {
    "an Expand": ("d[2,3] = Expand(x[1,3], s:const{2,3})", ["[1,3]"]),
    "an Expand of a lower rank": ("d[2,3] = Expand(x[3], s:const{2,3})", ["[3]"]),
    "an Expand of a lift": ("r[1,3] = Reshape(x[3], t:const{1,3})\nd[2,3] = Expand(r, s:const{2,3})", ["[1,3]", "[3]"]),
    "a Reshape": ("d[3,2] = Reshape(x[2,3], s:const{3,2})", []),
    "a Reshape that keeps the rank": ("d[2,3] = Reshape(x[2,3], s:const{2,3})", []),
    "a lift behind": ("d[3,1] = Reshape(x[3], s:const{3,1})", []),
    "an Unsqueeze in front": ("d[1,N] = Unsqueeze(x[N], a:const{0})", ["[N]"]),
    "a Squeeze in front": ("d[N] = Squeeze(x[1,N], a:const{0})", ["[1,N]"]),
    "a Tile of a unit axis": ("d[4,3] = Tile(x[1,3], r:const{4,1})", ["[1,3]"]),
    "a Tile of elements": ("d[2,6] = Tile(x[2,3], r:const{1,2})", []),
    "a Tile of an unknown rank": ("d[*] = Tile(x[*], r:const{4,1})", []),
    "an Expand of an unknown rank": ("d[2,3] = Expand(x[*], s:const{2,3})", ["[*]"]),
    "a product with 1": ("d[2,3] = Mul(x[1,3], k:const[2,1]{1.0,1.0})", ["[1,3]"]),
    "a product with 2": ("d[2,3] = Mul(x[1,3], k:const[2,1]{2.0,2.0})", []),
    "a product with 1 in front": ("d[2,3] = Mul(k:const[2,1]{1.0,1.0}, x[1,3])", ["[1,3]"]),
    "a quotient by 1": ("d[3] = Div(x[3], k:const[]{1.0})", ["[3]"]),
    "a quotient of 1": ("d[3] = Div(k:const[]{1.0}, x[3])", []),
    "a sum with 0.0": ("d[3] = Add(x[3], k:const[]{0.0})", []),
    "a sum with -0.0": ("d[3] = Add(x[3], k:const[]{-0.0})", ["[3]"]),
    "less 0.0": ("d[3] = Sub(x[3], k:const[]{0.0})", ["[3]"]),
    "less -0.0": ("d[3] = Sub(x[3], k:const[]{-0.0})", []),
    "less from 0.0": ("d[3] = Sub(k:const[]{0.0}, x[3])", []),
    "a sum with a whole 0": ("d:int64[3] = Add(x:int64[3], k:const[]{0})", ["[3]"]),
    "one scale": (QUANTIZED.format(front=EXPANDED, scale="k:const[]{0.5}", options=""), ["[1,3]"]),
    "one scale, and a lower rank": (QUANTIZED.format(front=LOWER, scale="k:const[]{0.5}", options=""), ["[3]"]),
    "a vector of one scale": (QUANTIZED.format(front=LOWER, scale="k:const[1]{0.5}", options=""), ["[3]"]),
    "a vector of one scale of an axis": (
        QUANTIZED.format(front=LOWER, scale="k:const[1]{0.5}", options=", , axis=0"), []),
    "scales of the last axis": (QUANTIZED.format(front=EXPANDED, scale="k:const[3]", options=""), ["[1,3]"]),
    "scales of the last axis, from the end": (
        QUANTIZED.format(front=EXPANDED, scale="k:const[3]", options=", , axis=-1"), ["[1,3]"]),
    "scales of the stretched axis": (QUANTIZED.format(front=EXPANDED, scale="k:const[2]", options=", , axis=0"), []),
    "scales, and a lower rank": (QUANTIZED.format(front=LOWER, scale="k:const[3]", options=""), []),
    "scales of a first axis, and a lower rank": (
        "q:int8[3,3] = Expand(x:int8[3], s:const{3,3})\nd[3,3] = DequantizeLinear(q, k:const[3], , axis=0)", []),
    "scales, and an unknown rank": (
        "q:int8[2,3] = Expand(x:int8[*], s:const{2,3})\nd[2,3] = DequantizeLinear(q, k:const[3], , axis=1)", []),
    "TFLite's TILE": ("d[4,3] = TILE(x[1,3], r:const:int32[2]{4,1})", ["[1,3]"]),
    "TFLite's BROADCAST_TO": ("d[4,3] = BROADCAST_TO(x[3], r:const:int32[2]{4,3})", ["[3]"]),
    "TFLite's product with 1": ("d:int32[3] = MUL(x:int32[3], k:const:int32[]{1})", ["[3]"]),
    "TFLite's product of floats with 1": ("d[3] = MUL(x[3], k:const[]{1.0})", []),
    "TFLite's sum with 0 and an activation": (
        "d:int32[3] = ADD(x:int32[3], k:const:int32[]{0}, fused_activation_function=RELU)", []),
    "StableHLO's axes at the end": (
        "d[2,3] = STABLEHLO_BROADCAST_IN_DIM(x[3], broadcast_dimensions=[1])", ["[3]"]),
    "StableHLO's axes in front": ("d[3,2] = STABLEHLO_BROADCAST_IN_DIM(x[3], broadcast_dimensions=[0])", []),
}  # fmt: skip


def nodes(text: str) -> list[Node]:
    operator = text.partition(" = ")[2].partition("(")[0]
    read = tflite_model(text) if operator.isupper() else model(text)
    return list(engine.load(read).graphs[0].nodes)


def value(text: str) -> Value:
    found = nodes(text)[-1].results[0]
    assert found is not None
    return found


@pytest.mark.parametrize(("text", "shapes"), SOURCES.values(), ids=SOURCES)
def test_a_reader_may_read_what_is_passed_on(text: str, shapes: list[str]) -> None:
    assert [str(each.shape).replace(" ", "") for each in sources(value(text))] == shapes


def test_an_operand_whose_shape_is_contradicted_is_not_passed_on() -> None:
    for text in ("d[2,3] = Expand(x[1,3], s:const{2,3})", "d[1,3] = Reshape(x[3], s:const{1,3})"):
        plain = node(text)
        assert passed_operand(plain) == 0
        stale = replace(plain.operand(0), stale="another shape is stored")  # type: ignore[arg-type]
        assert passed_operand(plain.reading((stale, plain.operands[1]))) is None
        assert passed_operand(plain.reading((None, plain.operands[1]))) is None


def test_beside_two_neutral_numbers_the_first_is_passed_on() -> None:
    both = "d:int64[3] = Mul(k:const[3]{1,1,1}, n:const[3]{1,1,1})"
    assert passed_operand(nodes(both)[-1]) in (0, 1)
    assert passed_operand(nodes("d[3] = Mul(x[3], y[3])")[-1]) is None


ASKED = {
    "a size that fits": ("d[2,3] = Expand(x[1,3], s:const{2,3})", []),
    "a free size": ("d[N,3] = Expand(x[1,3], s:int64[2])", []),
    "ONNX's one that keeps": ("d[2,3] = Expand(x[2,3], s:const{1,1})", []),
    "TFLite's sizes": ("d[4,3] = BROADCAST_TO(x[3], r:const:int32[2]{4,3})", []),
}


@pytest.mark.parametrize(("text", "asked"), ASKED.values(), ids=ASKED)
def test_a_stretch_that_is_known_to_fit_asks_nothing(text: str, asked: list[tuple[int, object]]) -> None:
    assert list(asked_sizes(value(text))) == asked


HELD = {
    "a constant": ("y[3] = Neg(k:const[3])", "k"),
    "a value": ("y[3] = Neg(x[3])", None),
    "a constant of one scale": ("d[3] = DequantizeLinear(k:const:int8[3], s:const[]{0.5})\ny[3] = Neg(d)", "k"),
    "a constant of several": ("d[3] = DequantizeLinear(k:const:int8[3], s:const[3], , axis=0)\ny[3] = Neg(d)", None),
    "a value of one scale": ("d[3] = DequantizeLinear(x:int8[3], s:const[]{0.5})\ny[3] = Neg(d)", None),
    "another node's": ("d[3] = Abs(k:const[3])\ny[3] = Neg(d)", None),
    "TFLite's of one scale": ("d[3] = DEQUANTIZE(k:const:float16[3])\ny[3] = NEG(d)", "k"),
}


@pytest.mark.parametrize(("text", "name"), HELD.values(), ids=HELD)
def test_a_constant_is_found_behind_one_scale(text: str, name: str | None) -> None:
    found = constant(nodes(text)[-1].operands[0])
    assert (found and found.name) == name


IDLE = {
    "a product with 1": ("d[3] = Mul(x[3], k:const[]{1.0})\ny[3] = Neg(d)", True),
    "one that stretches": ("d[2,3] = Mul(x[3], k:const[2,1]{1.0,1.0})\ny[2,3] = Neg(d)", False),
    "one that is returned": ("d[3] = Mul(x[3], k:const[]{1.0})", False),
    "a stretch that is read": ("d[2,3] = Expand(x[3], s:const{2,3})\ny[2,3] = Neg(d)", False),
}


@pytest.mark.parametrize(("text", "idle"), IDLE.values(), ids=IDLE)
def test_what_keeps_its_operand_as_it_is_does_nothing(text: str, idle: bool) -> None:
    assert does_nothing(nodes(text)[0], 0) is idle


ALONG = "tflite.STABLEHLO_BROADCAST_IN_DIM(x[{x}], broadcast_dimensions={axes})"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("y[2,3] = " + ALONG.format(x="3", axes="[1]"), 0),
        ("y[2,3] = " + ALONG.format(x="3", axes="(1,)"), 0),
        ("y[2,3] = " + ALONG.format(x="1,3", axes="(0,1)"), 0),
        ("y[4,2,3] = " + ALONG.format(x="2,3", axes="[1,2]"), 0),
        ("y[2,3] = " + ALONG.format(x="", axes="[]"), 0),
        ("y[2,3] = " + ALONG.format(x="", axes="()"), 0),
        ("y[3,3] = " + ALONG.format(x="3", axes="[0]"), None),
        ("y[3,3] = " + ALONG.format(x="3,3", axes="(1,0)"), None),
        ("y[4,2,3] = " + ALONG.format(x="4,2", axes="[0,1]"), None),
        ("y[2,3] = tflite.STABLEHLO_BROADCAST_IN_DIM(x[3])", None),
        ("y[2,3] = " + ALONG.format(x="*", axes="[1]"), None),
        ("y[*] = " + ALONG.format(x="3", axes="[1]"), None),
        ("y[2,3] = Expand(x[*], s:int64[2])", 0),
        ("y[*] = Expand(x[3], s:int64[K])", 0),
        ("y[4,3] = Tile(x[1,3], r:const{4,1})", 0),
        ("y[4,3] = Tile(x[2,3], r:const{2,1})", None),
        ("y[?,3] = Tile(x[N,3], r:const{2,1})", None),
        ("y[4,3] = Tile(x[1,3], r:int64[2])", None),
        ("y[*] = Tile(x[*], r:const{1})", None),
    ],
)
def test_a_stretch_passes_on_what_lies_right_aligned_in_its_result(text: str, at: int | None) -> None:
    assert passed_operand(node(text)) == at

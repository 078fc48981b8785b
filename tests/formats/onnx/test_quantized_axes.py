"""The quantized axis of a DequantizeLinear beside unit axes and stretches: where it moves, and what is refused."""

from __future__ import annotations

import pytest

from graphfix.formats.onnx.edit.quantized import axis_behind, check_quantized, edited_in_front, moves_by_node
from graphfix.graph.edits import Refused
from graphfix.graph.view import Node
from graphfix.shapes.dim import Shape, Size, symbol
from tests.support import engine
from tests.support.notation import model
from tests.support.onnx.fixing import fixed

N = symbol("N")
QUANTIZED = "b[*] = DequantizeLinear(q:int8[2,3,4], s{scale}{axis})\ny[*] = Neg(b)"


def dequantize(scale: str = "[3]", axis: str = ", axis=1", text: str = QUANTIZED, opset: int = 21) -> Node:
    found: Node = engine.load(model(text.format(scale=scale, axis=axis), opset=opset)).graphs[0].nodes[0]
    return found


MOVED: dict[str, tuple[str, str, tuple[int, ...], int | None]] = {
    "an axis in front": ("[3]", ", axis=1", (0,), 2),
    "an axis where it is": ("[3]", ", axis=1", (1,), 2),
    "an axis behind": ("[3]", ", axis=1", (2,), 1),
    "two axes, the second counted with the first": ("[3]", ", axis=1", (2, 0), 3),
    "two axes behind": ("[3]", ", axis=1", (2, 3), 1),
    "the default": ("[3]", "", (0,), 2),
    "the first axis": ("[2]", ", axis=0", (0,), 1),
    "no axes": ("[3]", ", axis=1", (), None),
    "an axis from the end": ("[3]", ", axis=-2", (0,), None),
    "a scale of the whole tensor": ("[]", ", axis=1", (0,), None),
    "a scale of one element": ("[1]", ", axis=1", (0,), None),
    "an axis that is not there": ("[3]", ", axis=3", (0,), None),
}


@pytest.mark.parametrize(("scale", "axis", "axes", "moved"), MOVED.values(), ids=MOVED)
def test_the_quantized_axis_behind_unit_axes(scale: str, axis: str, axes: tuple[int, ...], moved: int | None) -> None:
    assert axis_behind(dequantize(scale, axis), axes) == moved


WIDE = Shape((2, 5, 4))
STRETCHED: dict[str, tuple[str, str, tuple[Size, ...] | None, str | None]] = {
    "another axis": ("[3]", ", axis=1", (5, 3, 4), None),
    "the quantized axis": ("[3]", ", axis=1", (2, 5, 4), "along the axis that DequantizeLinear"),
    "the quantized axis to a free size": ("[3]", ", axis=1", (2, N, 4), "along the axis that DequantizeLinear"),
    "another rank": ("[3]", ", axis=1", (5, 2, 3, 4), "along the axis that DequantizeLinear"),
    "an unknown rank": ("[3]", ", axis=1", None, "along the axis that DequantizeLinear"),
    "the quantized axis from the end": ("[4]", ", axis=-1", (2, 3, 9), "along the axis that DequantizeLinear"),
    "an axis before one from the end": ("[4]", ", axis=-1", (2, 9, 4), None),
    "the whole tensor": ("[]", "", (2, 5, 4), None),
    "a scale of one element": ("[1]", "", (2, 5, 4), None),
    "blocks": ("[2,3,2]", ", axis=2, block_size=2", (2, 5, 4), None),
    "a scale of an unknown rank": ("[*]", "", (2, 5, 4), "the rank of the scale of DequantizeLinear"),
}


@pytest.mark.parametrize(("scale", "axis", "to", "why"), STRETCHED.values(), ids=STRETCHED)
def test_a_stretch_along_the_quantized_axis_is_refused(
    scale: str, axis: str, to: tuple[Size, ...] | None, why: str | None
) -> None:
    """Blocks are not edited in front of the node, so nothing changes what they mean."""
    (value,) = dequantize(scale, axis).results
    assert value is not None
    if why is None:
        check_quantized(value, Shape(to), 21)
    else:
        with pytest.raises(Refused, match=why):
            check_quantized(value, Shape(to), 21)


CHAIN = """q:int8[*] = QuantizeLinear(x[2,3,4], t{scale}{axis})
           b[*] = DequantizeLinear(q, s[])
           y[*] = Neg(b)"""
FED = {
    "by a whole tensor": ("[]", "", None),
    "along another axis": ("[4]", ", axis=2", None),
    "along the axis": ("[3]", ", axis=1", "it would be stretched along the axis that QuantizeLinear"),
    "in blocks": ("[2,3,2]", ", axis=2, block_size=2", "is quantized in blocks"),
    "by an unknown rank": ("[*]", "", "the rank of the scale of QuantizeLinear"),
}


@pytest.mark.parametrize(("scale", "axis", "why"), FED.values(), ids=FED)
def test_the_node_that_quantizes_in_front_is_asked_too(scale: str, axis: str, why: str | None) -> None:
    proto = model(CHAIN.format(scale=scale, axis=axis), opset=21)
    (value,) = engine.load(proto).graphs[0].nodes[1].results
    if why is None:
        check_quantized(value, WIDE, 21)
    else:
        with pytest.raises(Refused, match=why):
            check_quantized(value, WIDE, 21)


@pytest.mark.parametrize(("to", "refused"), [(None, False), (WIDE, True)])
def test_a_lift_leaves_every_axis_its_size(to: Shape | None, *, refused: bool) -> None:
    (value,) = dequantize().results
    assert value is not None
    if refused:
        with pytest.raises(Refused):
            check_quantized(value, to, 21)
    else:
        check_quantized(value, to, 21)


FRONT = {
    "along an axis since 13": ("[3]", ", axis=1", 13, True),
    "along an axis before": ("[3]", "", 12, False),
    "the whole tensor before": ("[]", "", 12, True),
    "in blocks": ("[2,3,2]", ", axis=2, block_size=2", 21, False),
}


@pytest.mark.parametrize(("scale", "axis", "version", "front"), FRONT.values(), ids=FRONT)
def test_where_an_edit_is_made_in_front_of_the_node(scale: str, axis: str, version: int, *, front: bool) -> None:
    assert edited_in_front(dequantize(scale, axis), version) == front


MADE = {
    "bytes": ("b[*] = DequantizeLinear(q:int8[2,4], s[])\ny[*] = Neg(b)", 0, True),
    "4 bits": ("b[*] = DequantizeLinear(q:int4[2,4], s[])\ny[*] = Neg(b)", 0, False),
    "4 bits that a node makes": (
        "q:int4[*] = QuantizeLinear(x[2,4], t[], z:int4[])\nb[*] = DequantizeLinear(q, s[])\ny[*] = Neg(b)",
        1,
        True,
    ),
}


@pytest.mark.parametrize(("text", "at", "moves"), MADE.values(), ids=MADE)
def test_nodes_move_what_onnxruntime_has_kernels_for(text: str, at: int, *, moves: bool) -> None:
    assert moves_by_node(engine.load(model(text, opset=21)).graphs[0].nodes[at]) == moves


LEFT = {
    "in blocks": ("[2]", ", axis=0, block_size=2", "its QuantizeLinear 'QuantizeLinear#0' is quantized in blocks"),
    "by a scale of an unknown rank": (
        "[*]",
        "",
        "the rank of the scale of QuantizeLinear 'QuantizeLinear#0' is not known",
    ),
    "along the axis": ("[4]", ", axis=0", None),
}


@pytest.mark.parametrize(("scale", "axis", "why"), LEFT.values(), ids=LEFT)
def test_an_operand_that_is_quantized_so_is_left_with_the_reason(scale: str, axis: str, why: str | None) -> None:
    text = f"""q:int8[*] = QuantizeLinear(x[4], t{scale}{axis})
               b[*] = DequantizeLinear(q, s[])
               y[2,4] = Add(z[2,4], b)"""
    result = fixed(model(text, opset=21), target="ranks")
    assert [reason for _, _, reason in result.left] == ([] if why is None else [why])
    assert (result.after == result.before) == (why is not None)

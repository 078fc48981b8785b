"""Recognize nodes that are redundant in front of a broadcasting consumer: expansions, lifts, multiplications by one.

Such a node passes one operand on: element i of its result is the operand's element at i, right-aligned, as a
broadcasting operator would read it. Right-aligned means that only unit axes in front are added or dropped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from graphfix import operators
from graphfix.graph.quantizers import DEQUANTIZE, is_quantizer
from graphfix.graph.view import Node, Scalar, Value
from graphfix.operators.row import TFLITE, StretchForm
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Shape, Size, same
from graphfix.shapes.shape import cstr_broadcastable, same_shape

RESHAPES = frozenset(
    {
        *(("", op) for op in ("Reshape", "Unsqueeze", "Squeeze", "Flatten")),
        *((TFLITE, op) for op in ("RESHAPE", "EXPAND_DIMS", "SQUEEZE")),
    }
)
"""Operators that keep the order of the elements and change the shape."""
UNSQUEEZES = frozenset({"Unsqueeze", "EXPAND_DIMS"})
CARRIERS = frozenset({("", "QuantizeLinear"), ("", "DequantizeLinear")})
NUMBERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "": frozenset("int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()),
        TFLITE: frozenset({"int32", "int64"}),
    }
)
"""For each domain, the element types for which x * 1 is x.

A complex product adds the product of the imaginary parts, which is NaN if one is infinite. LiteRT's float kernels
replace infinity by the largest float, and its kernels for less than 32 bits multiply by scales.
"""


@dataclass(frozen=True, slots=True)
class Neutral:
    """The number for which an operator of two operands returns the other operand bit for bit."""

    number: int
    right_only: bool = False
    negative_zero: bool = False
    """Whether floats need -0.0, because x + 0.0 is 0.0 if x is -0.0."""


Operator: TypeAlias = tuple[str, str]
NEUTRAL: Mapping[Operator, Neutral] = MappingProxyType(
    {
        (domain, name if domain else name.title()): neutral
        for domain in ("", TFLITE)
        for name, neutral in (
            ("MUL", Neutral(1)),
            ("DIV", Neutral(1, right_only=True)),
            ("ADD", Neutral(0, negative_zero=True)),
            ("SUB", Neutral(0, right_only=True)),
        )
    }
)


def passed_operand(node: Node) -> int | None:
    """Return the index of the operand that a redundant node passes on; None if the node is not redundant.

    The result of a redundant node has the operand's elements, only lifted or stretched as a broadcasting reader would
    do.
    """
    result = node.results[0] if len(node.results) == 1 else None
    if result is None or not node.operands or result.stale is not None:
        return None
    form = operators.stretch_form(node.domain, node.op)
    if form is not None:
        return 0 if _is_right_aligned(node, form, result.shape) else None
    if not result.shape.ranked:
        return None
    if (node.domain, node.op) in RESHAPES:
        value = node.operands[0]
        return (
            0 if value is not None and _keeps(node, value, result.shape) and not _may_fail(node, result.shape) else None
        )
    neutral = NEUTRAL.get((node.domain, node.op))
    return None if neutral is None or node.row is None else _beside(node, neutral, result)


def does_nothing(node: Node, at: int) -> bool:
    """Return whether a node is arithmetic that keeps the shape of its operand `at`, or has a result without readers.

    A node that may fail because of a size does not count as one without readers, because the failure is an effect.
    """
    result = node.results[0]
    if result is None or result in node.graph.outputs:
        return False
    same_value = (node.domain, node.op) in NEUTRAL and same_shape(node.operand(at).shape, result.shape)
    return same_value or not (result.was_read or any(asked_sizes(result)))


def is_carrier(node: Node) -> bool:
    """Return whether a node is a carrier: it quantizes or dequantizes each element.

    A lift or a stretch behind a carrier may be moved in front of it.
    """
    return (node.domain, node.op) in CARRIERS and bool(node.operands)


def of_scales(node: Node) -> Mapping[str, object]:
    """Return the attributes of a carrier (a node that quantizes or dequantizes).

    If there is a single scale, the attribute `axis` is left out, because it has no effect.
    """
    return {key: value for key, value in node.attributes.items() if key != "axis" or not _has_one_scale(node)}


def is_carried(value: Value) -> bool:
    """Return whether a carrier (a node that quantizes or dequantizes) produces the value."""
    node = value.producer
    return node is not None and is_carrier(node)


def is_lift(value: Value) -> bool:
    """Return whether the producer of a value is a reshape.

    If this reshape passes its operand on, it changes only unit axes in front.
    """
    node = value.producer
    return node is not None and (node.domain, node.op) in RESHAPES


def source(value: Value) -> Value | None:
    """Return the operand that the producer of a value passes on; None if the producer passes no operand on."""
    return next(sources(value), None)


def sources(value: Value) -> Iterator[Value]:
    """Yield the operands that redundant nodes pass on, from the producer of `value` backwards.

    If carriers (nodes that quantize or dequantize) produce the value, the redundant nodes in front of them count. Then
    the value itself is yielded, with the shape of each of these operands.
    """
    carriers, first = carried_from(value)
    for other in _passed_on(first):
        if not all(_has_one_scale(node) or _keeps_axis(node, other.shape) for node in carriers):
            return
        yield replace(value, shape=other.shape) if carriers else other


def carried_from(value: Value) -> tuple[Sequence[Node], Value]:
    """Return the chain of carriers that produces a value, the last carrier first, and the first carrier's operand.

    A carrier is a node that quantizes or dequantizes. If no carrier produces the value, return no nodes and the value
    itself.
    """
    carriers = []
    while (node := value.producer) is not None and is_carrier(node):
        carriers.append(node)
        value = node.operand(0)
    return carriers, value


def _passed_on(value: Value) -> Iterator[Value]:
    """Yield the operands that redundant nodes pass on, from the producer of `value` backwards.

    It ends at the first producer that is not redundant.
    """
    node = value.producer
    while node is not None and (at := passed_operand(node)) is not None:
        behind = node.operands[at]
        if behind is None:
            return
        yield behind
        node = behind.producer


def asked_sizes(value: Value) -> Iterator[tuple[int, Size]]:
    """Yield (axis from the right, size) for each target size of a stretch that its operand may not fit.

    The stretch would then fail. Yield nothing if the producer of the value is not such a stretch.
    """
    node = value.producer
    form = operators.stretch_form(node.domain, node.op) if node is not None else None
    if node is None or form is None or form.by != "shape":
        return
    content, shape = node.operand(1).content, node.operand(0).shape
    if content is None or not (content.ranked and shape.ranked):
        return
    pairs = zip(reversed(shape.dims), reversed(content.dims), strict=False)
    for axis, (have, want) in enumerate(pairs, 1):
        one_way = node.domain == TFLITE and same(want, 1) and not same(have, 1)
        if one_way or cstr_broadcastable(Shape((have,)), Shape((want,))) is not True:
            yield axis, want


def bare(shape: Shape) -> tuple[Size, ...]:
    """Return the sizes of a shape without the unit axes in front."""
    axes = shape.dims
    return axes[next((at for at, size in enumerate(axes) if not same(size, 1)), len(axes)) :]


def _keeps(node: Node, value: Value, to: Shape) -> bool:
    """Return whether a reshape changes the rank, and only adds or drops unit axes in front."""
    if not value.shape.ranked or value.stale is not None or value.shape.rank == to.rank:
        return False
    ours, theirs = bare(value.shape), bare(to)
    if len(ours) != len(theirs):
        return False
    # If these operators insert an axis elsewhere, the sizes of `to` behind its leading unit axes are more than those of
    # the operand. So equal lengths are enough.
    return node.op in UNSQUEEZES or same_shape(Shape(ours), Shape(theirs))


def _may_fail(node: Node, to: Shape) -> bool:
    """Return whether the target sizes of an ONNX Reshape are computed, because a computed 0 would mean another size."""
    return node.op == "Reshape" and not to.static and node.operand(1).literal is None


def _is_right_aligned(node: Node, form: StretchForm, to: Shape) -> bool:
    """Return whether a stretch reads its operand as a broadcasting operator would, right-aligned."""
    value = node.operands[0]
    if value is None or value.stale is not None:
        return False
    if form.by == "shape" and not (value.shape.ranked and to.ranked):
        return True
    if not (value.shape.ranked and to.ranked):
        return False
    rank = value.shape.rank
    if form.by == "shape":
        return rank <= to.rank
    if form.by == "axes":
        return node.attributes.get("broadcast_dimensions", ()) in (
            list(range(to.rank - rank, to.rank)),
            tuple(range(to.rank - rank, to.rank)),
        )
    repeats = node.operand(1).elements
    return repeats is not None and all(
        repeat == 1 or same(size, 1) for size, repeat in zip(value.shape.dims, repeats, strict=False)
    )


def _beside(node: Node, neutral: Neutral, result: Value) -> int | None:
    """Return the index of the operand beside a neutral constant; None if there is none, or if types are quantized."""
    values = [value for value in (*node.operands, result) if value is not None]
    if len(values) != 3 or result.dtype not in NUMBERS[node.domain] or node.attributes.get("fused_activation_function"):  # noqa: PLR2004 -- two and the result
        return None
    if any(value.scales or not value.shape.ranked or value.stale is not None for value in values):
        return None
    for at, other in ((0, 1), (1, 0)):
        if (not neutral.right_only or other == 1) and _is_number(_number(values[other]), neutral):
            return at
    return None


def _number(value: Value) -> Scalar | None:
    """Return the number that all elements of a constant or of a ConstantOfShape equal; None if they differ."""
    node = value.producer
    if node is None or (node.domain, node.op) != ("", "ConstantOfShape"):
        return value.number
    number, empty = node.attributes.get("value", 0.0), 0 in (value.shape.axes or ())
    return number if isinstance(number, (int, float)) and not empty else None


def _is_number(number: Scalar | None, neutral: Neutral) -> bool:
    """Return whether a number is the neutral number, with the sign of zero that floats need."""
    if not isinstance(number, (int, float)) or isinstance(number, bool) or number != neutral.number:
        return False
    negative = isinstance(number, float) and math.copysign(1, number) < 0
    return not isinstance(number, float) or bool(neutral.number) or negative == neutral.negative_zero


def constant(value: Value | None) -> Value | None:
    """Return the value if it is a constant, or the constant that it is dequantized from by one scale.

    Return None for any other value, and for None.
    """
    if value is None or value.kind == "constant":
        return value
    node = value.producer
    if node is None or not (node.op == "DEQUANTIZE" or is_quantizer(node, DEQUANTIZE)):
        return None
    operand = node.operands[0] if node.operands else None
    if operand is None or operand.kind != "constant" or operand.scales > 1:
        return None
    return operand if _has_one_scale(node) else None


def _keeps_axis(node: Node, to: Shape) -> bool:
    """Return whether the scales of a carrier still belong to the right axis if its operand has the shape `to`.

    A carrier is a node that quantizes or dequantizes.
    """
    shape, axis = node.operand(0).shape, node.attributes.get("axis", 1)
    if not (shape.ranked and to.ranked) or shape.rank != to.rank or not isinstance(axis, int):
        return False
    return -to.rank <= axis < to.rank and same(shape.dims[axis], to.dims[axis]) and "block_size" not in node.attributes


def _has_one_scale(node: Node) -> bool:
    """Return whether a carrier (a node that quantizes or dequantizes) has one scale for the whole tensor.

    A scale vector of one element counts only if the node states no axis.
    """
    parameters = [each.shape.axes for each in node.operands[1:] if each is not None]
    return all(
        axes == () or (axes is not None and set(axes) <= {1} and "axis" not in node.attributes) for axes in parameters
    )

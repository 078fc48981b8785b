"""Rules of the operators that select or replace elements by indices or conditions: Gather, Scatter, TopK, NonZero.

Source: the ONNX operator specification.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results, Rule
from graphfix.formats.onnx.infer.operators.elementwise import first, shapes_of
from graphfix.formats.onnx.infer.operators.integers import (
    Bounds,
    BoundsRule,
    Elements,
    Given,
    IntegerRule,
    axis_positions,
    bounds_of,
    bounds_of_first,
    operand,
    union,
)
from graphfix.formats.onnx.infer.sizes import normalized_axes, unknowns, with_size
from graphfix.graph.view import Node
from graphfix.shapes.dim import UNKNOWN, Shape
from graphfix.shapes.terms import as_size

K_IS_OPERAND_SINCE = 10
"""The version from which TopK has k as an operand."""

# --- Gather and Scatter -----------------------------------------------------------------------------------------------


def gather(call: Call) -> Results:
    """data[:axis] + indices + data[axis+1:]."""
    data, indices = call.dims(0), call.dims(1)
    if data is None or indices is None:
        return NOTHING
    axis = call.number("axis", 0)
    if not -len(data) <= axis < len(data):
        return NOTHING
    axis %= len(data)
    return (Shape((*data[:axis], *indices, *data[axis + 1 :])),)


def _gathered_elements(call: Call, _: str) -> Elements | None:
    elements, indices = operand(call, 0), operand(call, 1)
    axis = call.number("axis", 0)
    if elements is None or indices is None or not -len(elements.shape) <= axis < len(elements.shape):
        return None
    length = elements.shape[axis]
    places = [at for at in indices.elements if isinstance(at, int) and -length <= at < length]
    return elements.take(axis, places).elements if len(places) == len(indices.elements) else None


def gather_nd(call: Call) -> Results:
    """indices[:-1] + data[batch_dims + indices[-1]:]."""
    data, indices, batch = call.dims(0), call.dims(1), call.number("batch_dims", 0)
    if data is None or not indices or not isinstance(indices[-1], int) or batch < 0:
        return NOTHING
    if batch + indices[-1] > len(data) or batch >= len(indices):
        return NOTHING
    return (Shape((*indices[:-1], *data[batch + indices[-1] :])),)


def _scattered_bounds(node: Node, given: Given, _: int) -> Bounds | None:
    plain = node.attributes.get("reduction", "none") in ("none", b"none", "max", b"max", "min", b"min")
    return union([given[0], given[2]]) if plain else None


# --- TopK and OneHot --------------------------------------------------------------------------------------------------


def top_k(call: Call) -> Results:
    """Return the shapes of values and indices: k elements of the axis."""
    dims = call.dims(0)
    if dims is None:
        return NOTHING
    at = normalized_axes((call.number("axis", -1),), len(dims))
    k = call.stated("k") if call.version < K_IS_OPERAND_SINCE else call.scalar(1)
    if at is None:
        return (unknowns(len(dims)),) * 2
    return (with_size(dims, at[0], UNKNOWN if k is None else as_size(k)),) * 2


def _top_bounds(node: Node, given: Given, result: int) -> Bounds | None:
    return axis_positions(node, given, result) if result == 1 else given[0]


def one_hot(call: Call) -> Results:
    """Return the indices' shape with a new axis of the given depth."""
    dims = call.dims(0)
    if dims is None:
        return NOTHING
    at = normalized_axes((call.number("axis", -1),), len(dims) + 1)
    depth = call.scalar(1)
    if at is None:
        return (unknowns(len(dims) + 1),)
    size = UNKNOWN if depth is None else as_size(depth)
    return (Shape((*dims[: at[0]], size, *dims[at[0] :])),)


# --- selections whose length depends on elements ----------------------------------------------------------------------


def compress(call: Call) -> Results:
    """Return the shape of some slices of the axis; without the attribute `axis`, of some of all elements."""
    if "axis" not in call.attributes:
        return (unknowns(1),)
    dims = call.dims(0)
    at = normalized_axes((call.number("axis", 0),), len(dims)) if dims is not None else None
    return NOTHING if dims is None or at is None else (with_size(dims, at[0], UNKNOWN),)


def unique(call: Call) -> Results:
    """Return the shape of slices of the axis (without the attribute `axis`, of elements), and of three vectors."""
    (found,) = compress(call) or (None,)
    return (found, unknowns(1), unknowns(1), unknowns(1))


def non_zero(call: Call) -> Results:
    """[rank,?]."""
    dims = call.dims(0)
    return (Shape((len(dims), UNKNOWN)),) if dims else (unknowns(2),)


def _positions(node: Node, _: Given, __: int) -> Bounds | None:
    shape = node.operand(0).shape
    return (0, max((*shape.numbers, 1)) - 1) if shape.static else None


SHAPES: Mapping[str, Rule] = {
    **dict.fromkeys("ReverseSequence Scatter ScatterElements ScatterND TensorScatter".split(), first),
    "Compress": compress,
    "Gather": gather,
    "GatherElements": shapes_of(1),
    "GatherND": gather_nd,
    "NonMaxSuppression": lambda _: (Shape((UNKNOWN, 3)),),
    "NonZero": non_zero,
    "OneHot": one_hot,
    "TopK": top_k,
    "Unique": unique,
}
INTEGERS: Mapping[str, IntegerRule] = {"Gather": _gathered_elements}
BOUNDS: Mapping[str, BoundsRule] = {
    **dict.fromkeys(("Compress", "Gather", "GatherElements", "GatherND", "ReverseSequence"), bounds_of_first),
    **dict.fromkeys(("ScatterElements", "ScatterND"), _scattered_bounds),
    "NonZero": _positions,
    "OneHot": bounds_of(2),
    "TopK": _top_bounds,
}

"""Rules of the operators that reduce axes, of running sums, and of losses. Source: the ONNX operator specification."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from math import prod

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results, Rule
from graphfix.formats.onnx.infer.operators.elementwise import first
from graphfix.formats.onnx.infer.operators.integers import (
    Bounds,
    BoundsRule,
    Elements,
    Given,
    IntegerRule,
    axis_positions,
    bounds_of_first,
)
from graphfix.formats.onnx.infer.sizes import normalized_axes, unknowns
from graphfix.graph.view import Node
from graphfix.shapes.dim import Shape, Size

REDUCTIONS = """
ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare
""".split()


def reduce(call: Call) -> Results:
    """Give the reduced axes size 1 if keepdims=1, else drop them.

    Without axes all axes are reduced, or none if the attribute noop_with_empty_axes is 1.
    """
    dims = call.dims(0)
    if dims is None:
        return NOTHING
    keeps, idle, axes = call.flag("keepdims", 1), call.flag("noop_with_empty_axes", 0), call.ints(1, "axes")
    if keeps is None:
        return NOTHING
    if axes is None and call.has(1):
        return _reduced_by_unknown(call, len(dims), keeps=keeps)
    if not axes:
        if idle is not False:
            return (Shape(dims),) if idle else NOTHING
        axes = tuple(range(len(dims)))
    return _without(dims, axes, keeps=keeps)


def _reduced_by_unknown(call: Call, rank: int, *, keeps: bool) -> Results:
    if keeps:
        return (unknowns(rank),)
    # several may name one axis twice
    return (unknowns(rank - 1),) if rank and call.length(1) == 1 else NOTHING


def _without(dims: tuple[Size, ...], axes: tuple[int, ...], *, keeps: bool) -> Results:
    gone = normalized_axes(axes, len(dims))
    if gone is None or (0 in dims and any(axis < 0 for axis in axes)):
        # onnxruntime does not reduce an operand without elements along axes that count from the end
        return (unknowns(len(dims)),) if keeps else NOTHING
    if keeps:
        return (Shape(tuple([1 if at in gone else size for at, size in enumerate(dims)])),)
    return (Shape(tuple([size for at, size in enumerate(dims) if at not in gone])),)


def reduce_one(call: Call) -> Results:
    """ArgMax and ArgMin: reduce one axis."""
    dims, keeps = call.dims(0), call.flag("keepdims", 1)
    if dims is None or keeps is None:
        return NOTHING
    return _without(dims, (call.number("axis", 0),), keeps=keeps)


def _reduced_element(call: Call, result: str) -> Elements | None:
    """Return the one element of ReduceProd, ReduceSum, ReduceMax or ReduceMin of all elements."""
    elements, dims, terms = call.elements(0), call.scope.types[result].shape, call.terms
    if not elements or not dims.static or prod(dims.numbers) != 1 or call.flag("noop_with_empty_axes", 0) is not False:
        return None
    if call.op in ("ReduceProd", "ReduceSum"):
        return (terms.mul(*elements) if call.op == "ReduceProd" else terms.add(*elements),)
    return (functools.reduce(terms.maximum if call.op == "ReduceMax" else terms.minimum, elements),)


def _bounds_of_sums(node: Node, given: Given, _: int) -> Bounds | None:
    """Return the bounds of ReduceSum and CumSum.

    An element of ReduceSum is the sum of as many elements as the operand has for each element of the result. An element
    of CumSum is the sum of at most all elements of an axis.
    """
    data, result = node.operand(0), node.results[0]
    if given[0] is None or result is None or not data.shape.static or not result.shape.static:
        return None
    if node.op == "CumSum":
        count = max(data.shape.numbers, default=1)
    else:
        count = prod(data.shape.numbers) // max(prod(result.shape.numbers), 1)
    return min(count * given[0][0], given[0][0], 0), max(count * given[0][1], given[0][1], 0)


# --- losses -----------------------------------------------------------------------------------------------------------


def loss(call: Call) -> Results:
    """Return the shape of one number; with reduction=none, that of the targets."""
    return (call.shape(1) if call.text("reduction", "mean") == "none" else Shape(()),)


SHAPES: Mapping[str, Rule] = {
    **dict.fromkeys(REDUCTIONS, reduce),
    **dict.fromkeys(("ArgMax", "ArgMin"), reduce_one),
    **dict.fromkeys(("CumProd", "CumSum"), first),
    "NegativeLogLikelihoodLoss": loss,
    "SoftmaxCrossEntropyLoss": lambda call: (*loss(call), call.shape(0)),
}
INTEGERS: Mapping[str, IntegerRule] = dict.fromkeys(
    ("ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin"), _reduced_element
)
BOUNDS: Mapping[str, BoundsRule] = {
    **dict.fromkeys(("ArgMax", "ArgMin"), axis_positions),
    **dict.fromkeys(("CumSum", "ReduceSum"), _bounds_of_sums),
    **dict.fromkeys(("ReduceMax", "ReduceMin"), bounds_of_first),
}

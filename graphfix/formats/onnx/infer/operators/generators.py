"""Rules of the operators that make tensors from sizes and numbers: Shape, Size, ConstantOfShape, Range, random tensors.

Source: the ONNX operator specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results, Rule
from graphfix.formats.onnx.infer.operators.elementwise import always, first
from graphfix.formats.onnx.infer.operators.integers import (
    LIMIT,
    TYPES,
    Bounds,
    BoundsRule,
    Elements,
    Given,
    IntegerRule,
    union,
)
from graphfix.formats.onnx.infer.sizes import unknowns
from graphfix.graph.view import Node
from graphfix.results.onnx_messages import TensorProto
from graphfix.shapes.dim import Shape
from graphfix.shapes.terms import as_size

# --- Shape and Size ---------------------------------------------------------------------------------------------------


def shape_of(call: Call) -> Results:
    """Shape: a vector with one element for each axis of the operand from `start` to `end`."""
    dims = call.dims(0)
    if dims is None:
        return (unknowns(1),)
    start, end = call.number("start", 0), call.number("end", len(dims))
    return (Shape((len(dims[start:end]),)),)


def _elements_of_shape(call: Call, result: str) -> Elements | None:
    shape = call.shape(0)
    if shape is None:
        return None
    bounded = {"start", "end"} & call.attributes.keys()
    if shape.axes is None:
        if not bounded:
            call.scope.unranked[result] = shape
        return None
    return shape.axes[call.number("start", 0) : call.number("end", len(shape.axes))]


def _element_of_size(call: Call, _: str) -> Elements | None:
    dims = call.dims(0)
    return None if dims is None else (call.terms.mul(*dims),)


def _bounds_of_sizes(node: Node, _: Given, __: int) -> Bounds | None:
    """Return the bounds of the operand's sizes, or of their product; an unknown size is at most the largest int32.

    A tensor of TOSA can't have a larger size.
    """
    shape = node.operand(0).shape
    if node.op == "Shape" and not shape.static:
        return 0, TYPES["int32"][1]
    return (0, prod(shape.numbers) if node.op == "Size" else max(shape.numbers, default=0)) if shape.static else None


# --- ConstantOfShape --------------------------------------------------------------------------------------------------


def constant_of_shape(call: Call) -> Results:
    """Return the shape that the operand holds."""
    target = call.content(0)
    length = call.length(0)
    if target is not None and target.axes is not None:
        return (Shape(tuple(map(as_size, target.axes))),)
    return (target,) if target is not None else NOTHING if length is None else (unknowns(length),)


def _filled_elements(call: Call, result: str) -> Elements | None:
    """Return copies of the attribute's element, which is 0 where it is absent; a bool is 0 or 1."""
    dims, value = call.scope.types[result].shape, call.attributes.get("value", 0)
    if not isinstance(value, int) or not dims.static or prod(dims.numbers) > LIMIT:
        return None
    return (value,) * prod(dims.numbers)


# --- Range ------------------------------------------------------------------------------------------------------------

EXACT = 2**52
"""The largest bound of a Range of whole numbers whose length is exact in all versions of onnxruntime.

Some versions compute the length in float64: `runtime_facts.RANGE_DIVIDED_IN_FLOAT64`.
"""
FLOAT_EXACT = 2**23
"""Up to here float32 has the difference of any two whole numbers."""
COUNTED_BY_FLOATS = "sizes that a Range of float32 counts to or from are below 2**23"


def integer_range(call: Call) -> Results:
    """Range: the number of steps from start to limit, for whole numbers. In float32 the step must be 1 or -1.

    The step may be absent.
    """
    start, limit, step = call.scalar(0), call.scalar(1), call.scalar(2) if call.has(2) else 1
    if start is None or limit is None or not isinstance(step, int) or not step:
        return (unknowns(1),)
    given = range(3 if call.has(2) else 2)
    floats = all(call.dtype(index) == TensorProto.FLOAT for index in given)
    most = EXACT if all(map(call.is_integer, given)) else FLOAT_EXACT if floats and abs(step) == 1 else 0
    if any(isinstance(bound, int) and abs(bound) > most for bound in (start, limit, step)):
        return (unknowns(1),)
    if most == FLOAT_EXACT and not (isinstance(start, int) and isinstance(limit, int)):
        call.scope.assumes[COUNTED_BY_FLOATS] = None
    terms = call.terms
    room = terms.sub(limit, start) if step > 0 else terms.sub(start, limit)
    return (Shape((as_size(terms.maximum(terms.ceildiv(room, abs(step)), 0)),)),)


def _range_elements(call: Call, result: str) -> Elements | None:
    start, step = call.scalar(0), call.scalar(2) if call.has(2) else 1
    dims = call.scope.types[result].shape
    if start is None or step is None or not dims.static or prod(dims.numbers) > LIMIT:
        return None
    return [call.terms.add(start, call.terms.mul(step, at)) for at in range(*dims.numbers)]


def _range_bounds(_: Node, given: Given, __: int) -> Bounds | None:
    """Return the bounds of start and limit: the elements are between them."""
    return union(given[:2])


# --- random tensors ---------------------------------------------------------------------------------------------------


def shape_by_attribute(call: Call) -> Results:
    """Return the attribute `shape`."""
    wanted = call.list("shape")
    return (Shape(wanted),) if wanted is not None and min(wanted, default=0) >= 0 else NOTHING


def multinomial(call: Call) -> Results:
    """[batch,classes] to [batch,sample_size]."""
    dims, count = call.dims(0), call.number("sample_size", 1)
    return (Shape((dims[0], count)),) if dims is not None and len(dims) == 2 and count >= 0 else (unknowns(2),)  # noqa: PLR2004 -- [batch, classes]


SHAPES: Mapping[str, Rule] = {
    **dict.fromkeys("Bernoulli EyeLike RandomNormalLike RandomUniformLike".split(), first),
    **dict.fromkeys(("HannWindow", "HammingWindow", "BlackmanWindow"), always(1)),
    **dict.fromkeys(("RandomNormal", "RandomUniform"), shape_by_attribute),
    "ConstantOfShape": constant_of_shape,
    "MelWeightMatrix": always(2),
    "Multinomial": multinomial,
    "Range": integer_range,
    "Shape": shape_of,
    "Size": always(0),
}
INTEGERS: Mapping[str, IntegerRule] = {
    "ConstantOfShape": _filled_elements,
    "Range": _range_elements,
    "Shape": _elements_of_shape,
    "Size": _element_of_size,
}
BOUNDS: Mapping[str, BoundsRule] = {
    "Range": _range_bounds,
    "Shape": _bounds_of_sizes,
    "Size": _bounds_of_sizes,
}

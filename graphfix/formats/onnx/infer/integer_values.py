"""What small integer tensors hold: the sizes that shape arithmetic passes along, as far as they can be followed.

Tensors of int64, int32 and bool are followed, with the arithmetic of their type: what leaves its range, and what passes
through any other type, is not known. In float32 whole numbers are followed where they are moved, not computed. That a
named size fits into int32, and is one that float32 has, is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from graphfix.formats.onnx.file.tensors import elements_of
from graphfix.formats.onnx.infer.call import Call
from graphfix.formats.onnx.infer.integer_arithmetic import ARITHMETIC, negated, rest, rest_of_c
from graphfix.formats.onnx.infer.operators.integers import LIMIT, Elements, Tensor, columns, joined, operand
from graphfix.formats.onnx.infer.operators.slicing import AXES_AT, cut, slice_bounds
from graphfix.formats.onnx.infer.scope import INTEGERS, GraphScope
from graphfix.results.onnx_messages import TensorProto
from graphfix.shapes.shape import UNKNOWN, Size
from graphfix.shapes.terms import ANY, Terms
from graphfix.shapes.terms import bounds as range_of

WHOLE = (*INTEGERS, TensorProto.BOOL, TensorProto.DOUBLE, TensorProto.FLOAT)
"""Floats are cast: before opset 9 a Constant node can't hold integers, and exporters cast the 0.0 of a Range."""
MOST_AXES = 2
"""Pads are computed as a matrix."""
BITS: Mapping[int, int] = {TensorProto.INT64: 63, TensorProto.INT32: 31, TensorProto.BOOL: 1, TensorProto.FLOAT: 24}
"""By element type that is followed."""


def enter(scope: GraphScope, name: str, tensor: TensorProto) -> None:
    """Note the elements of a small constant of whole numbers."""
    if tensor.data_type not in WHOLE or len(tensor.dims) > MOST_AXES or prod(tensor.dims) > LIMIT:
        return
    if tensor.data_location == TensorProto.EXTERNAL:
        return
    held = elements_of(tensor)
    if all(isinstance(each, int) or each.is_integer() for each in held):
        scope.elements[name] = tuple(map(int, held))


def follow(call: Call, op: str, result: str) -> None:
    """Note what the first result of an operator holds that treats elements as the standard operator `op`.

    Its shape and type, which FOLLOWED has, are noted.
    """
    scope = call.scope
    bits = BITS[scope.types[result].dtype]
    dims = scope.types[result].shape.axes
    if dims is None or len(dims) > MOST_AXES:
        return
    elements = FOLLOW[op](call, result)
    if elements is None or len(elements) > LIMIT:
        return
    known = [size for size in dims if isinstance(size, int)]
    if prod(known) == len(elements) if len(known) == len(dims) else len(dims) == 1:
        scope.elements[result] = tuple([_within(call.terms, element, bits) for element in elements])


def _within(terms: Terms, element: Size, bits: int) -> Size:
    """An element that its type holds; any other would wrap. Of an unknown one not even the sign is known."""
    if isinstance(element, int):
        return element if -(1 << bits) <= element < 1 << bits else ANY
    return ANY if element == UNKNOWN or terms.factor(element) >> bits else element


# --- shapes -----------------------------------------------------------------------------------------------------------


def _shape(call: Call, result: str) -> Elements | None:
    shape = call.shape(0)
    if shape is None:
        return None
    bounded = {"start", "end"} & call.attributes.keys()
    if shape.axes is None:
        if not bounded:
            call.scope.unranked[result] = shape
        return None
    return shape.axes[call.number("start", 0) : call.number("end", len(shape.axes))]


def _size(call: Call, _: str) -> Elements | None:
    dims = call.dims(0)
    return None if dims is None else (call.terms.mul(*dims),)


# --- elements that move -----------------------------------------------------------------------------------------------


def _same(call: Call, _: str) -> Elements | None:
    """The elements of the operand in their order."""
    return call.elements(0)


def _cast(call: Call, result: str) -> Elements | None:
    elements = call.elements(0)
    if elements is None or call.scope.types[result].dtype != TensorProto.BOOL:
        return elements
    return [UNKNOWN if _truth(element) is None else int(bool(_truth(element))) for element in elements]


def _truth(element: Size) -> bool | None:
    """Whether an element is not 0; None where that is not known."""
    low, high = range_of(element)
    return True if low > 0 or high < 0 else False if low == high == 0 else None


def _transpose(call: Call, _: str) -> Elements | None:
    held, order = operand(call, 0), call.list("perm")
    if held is None:
        return None
    axes = range(len(held.shape))
    if order is not None and sorted(order) != list(axes):
        return None
    return held.transposed(axes[::-1] if order is None else order)


def _gather(call: Call, _: str) -> Elements | None:
    held, indices = operand(call, 0), operand(call, 1)
    axis = call.number("axis", 0)
    if held is None or indices is None or not -len(held.shape) <= axis < len(held.shape):
        return None
    length = held.shape[axis]
    places = [at for at in indices.elements if isinstance(at, int) and -length <= at < length]
    return held.take(axis, places).elements if len(places) == len(indices.elements) else None


def _slice(call: Call, _: str) -> Elements | None:
    held, (starts, ends, axes, steps) = operand(call, 0), slice_bounds(call)
    if held is None or starts is None or ends is None:
        return None
    axes = tuple(range(len(starts))) if axes is None and not call.has(AXES_AT) else axes
    steps = (1,) * len(starts) if steps is None else steps
    if axes is None or not len(starts) == len(ends) == len(axes) == len(steps):
        return None
    for axis, *bounds in zip(axes, starts, ends, steps, strict=True):
        numbers = [bound for bound in bounds if isinstance(bound, int)]
        known = len(numbers) == len(bounds) and -len(held.shape) <= axis < len(held.shape)
        taken = cut(held.shape[axis], *numbers) if known else None
        if taken is None:
            return None
        held = held.take(axis, taken)
    return held.elements


def _concat(call: Call, _: str) -> Elements | None:
    axis, parts = call.number("axis", 1), []
    for index in range(len(call.inputs)):
        part, dims = operand(call, index), call.dims(index)
        if part is None:  # what is not known of one leaves the others
            if dims is None or len(dims) != 1 or not isinstance(dims[0], int) or dims[0] > LIMIT:
                return None
            part = Tensor([UNKNOWN] * dims[0], (dims[0],))
        parts.append(part)
    ranks = {len(part.shape) for part in parts}
    if len(ranks) != 1 or not -min(ranks) <= axis < min(ranks):
        return None
    filled = [part for part in parts if part.elements]
    if len({_others(part.shape, axis) for part in filled}) > 1:
        return None
    return joined(filled, axis) if filled else ()


def _others(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return tuple(size for at, size in enumerate(shape) if at != axis % len(shape))


def _expanded(call: Call, result: str) -> Elements | None:
    """Expand, by the shape that the result has."""
    held, dims = operand(call, 0), call.scope.types[result].shape
    if held is None or not dims.static or prod(dims.numbers) > LIMIT:
        return None
    return held.stretched(dims.numbers)


def _tile(call: Call, _: str) -> Elements | None:
    held, repeats = operand(call, 0), call.ints(1, "")
    if held is None or repeats is None or len(repeats) != len(held.shape) or min(repeats, default=0) < 0:
        return None
    if len(held.elements) * prod(repeats) > LIMIT:
        return None
    if not held.elements or 0 in repeats:
        return ()
    for axis, times in enumerate(repeats):
        held = held.take(axis, list(range(held.shape[axis])) * times)
    return held.elements


def _filled(call: Call, result: str) -> Elements | None:
    """ConstantOfShape: the attribute's element, 0 without one; a bool is 0 or 1."""
    dims, value = call.scope.types[result].shape, call.attributes.get("value", 0)
    if not isinstance(value, int) or not dims.static or prod(dims.numbers) > LIMIT:
        return None
    return (value,) * prod(dims.numbers)


def _range(call: Call, result: str) -> Elements | None:
    start, step = call.scalar(0), call.scalar(2) if call.has(2) else 1
    dims = call.scope.types[result].shape
    if start is None or step is None or not dims.static or prod(dims.numbers) > LIMIT:
        return None
    return [call.terms.add(start, call.terms.mul(step, at)) for at in range(*dims.numbers)]


# --- elements that are computed ---------------------------------------------------------------------------------------


def _pairs(call: Call, _: str) -> Elements | None:
    """Compute element by element; both operands are broadcast, before operator set 7 along an axis that is said."""
    if "axis" in call.attributes:
        return None
    rule = ARITHMETIC[call.op]
    found = columns(call, 2)
    return None if found is None else [rule(call.terms, *column) for column in found]


def _mod(call: Call, _: str) -> Elements | None:
    fmod, found = call.flag("fmod", 0), columns(call, 2)
    if fmod is None or found is None:
        return None
    return [(rest_of_c if fmod else rest)(call.terms, *column) for column in found]


def _neg(call: Call, _: str) -> Elements | None:
    elements = call.elements(0)
    return None if elements is None else [call.terms.mul(element, -1) for element in elements]


def _turned(call: Call, _: str) -> Elements | None:
    elements = call.elements(0)
    return None if elements is None else [negated(element) for element in elements]


def _where(call: Call, _: str) -> Elements | None:
    found = columns(call, 3)
    if found is None:
        return None
    return [
        one if condition == 1 else two if condition == 0 or one == two else UNKNOWN for condition, one, two in found
    ]


def _reduced(call: Call, result: str) -> Elements | None:
    """ReduceProd, ReduceSum, ReduceMax and ReduceMin of all elements."""
    elements, dims, terms = call.elements(0), call.scope.types[result].shape, call.terms
    if not elements or not dims.static or prod(dims.numbers) != 1 or call.flag("noop_with_empty_axes", 0) is not False:
        return None
    if call.op in ("ReduceProd", "ReduceSum"):
        return (terms.mul(*elements) if call.op == "ReduceProd" else terms.add(*elements),)
    total, *others = elements
    for element in others:
        total = (terms.maximum if call.op == "ReduceMax" else terms.minimum)(total, element)
    return (total,)


MOVES = frozenset(("Cast", "CastLike", "Identity", "Unsqueeze", "Squeeze", "Reshape", "Flatten"))
"""What leaves the elements of float32 as they are."""
FOLLOW: dict[str, Callable[[Call, str], Elements | None]] = {
    "Shape": _shape,
    "Size": _size,
    **dict.fromkeys(("Cast", "CastLike"), _cast),
    **dict.fromkeys(("Identity", "Unsqueeze", "Squeeze", "Reshape", "Flatten"), _same),
    "Transpose": _transpose,
    "Gather": _gather,
    "Slice": _slice,
    "Concat": _concat,
    "Expand": _expanded,
    "Tile": _tile,
    "ConstantOfShape": _filled,
    "Range": _range,
    **dict.fromkeys(ARITHMETIC, _pairs),
    "Mod": _mod,
    "Neg": _neg,
    "Not": _turned,
    "Where": _where,
    **dict.fromkeys(("ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin"), _reduced),
}
FOLLOWED = frozenset((op, dtype) for op in FOLLOW for dtype in BITS if dtype != TensorProto.FLOAT or op in MOVES)
"""(operator, element type of its first result)."""

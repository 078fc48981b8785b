"""What small integer tensors hold: the sizes that shape arithmetic passes along, as far as they can be followed.

Only vectors and scalars of int64 and int32 are followed, with the arithmetic of their type: what leaves its range, and
what passes through any other type, is not known. That a named size fits into int32 is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import onnx
from onnx import TensorProto

from graphfix.formats.onnx.infer.operands import Call
from graphfix.formats.onnx.infer.rules_parts import cut
from graphfix.formats.onnx.infer.scope import INTEGERS, GraphScope
from graphfix.shapes.shape import UNKNOWN, Size, num_elements

LIMIT = 64
"""Integer tensors of more elements are no shapes."""
WHOLE = (*INTEGERS, TensorProto.DOUBLE)
"""Before opset 9 a Constant node can't hold integers: a shape is written in float64 and cast."""
BITS: Mapping[int, int] = {TensorProto.INT64: 63, TensorProto.INT32: 31}
"""By element type that is followed."""
Elements: TypeAlias = Sequence[Size]


def enter(scope: GraphScope, name: str, tensor: TensorProto) -> None:
    """Note the elements of a small constant of whole numbers."""
    if tensor.data_type not in WHOLE or len(tensor.dims) > 1 or (tensor.dims and tensor.dims[0] > LIMIT):
        return
    if tensor.data_location == TensorProto.EXTERNAL:
        return
    elements = onnx.numpy_helper.to_array(tensor).reshape(-1).tolist()
    if all(isinstance(element, int) or element.is_integer() for element in elements):
        scope.elements[name] = tuple(map(int, elements))


def follow(call: Call, result: str) -> None:
    """Note what the first result of an operator that FOLLOW has holds; its shape and type, one of BITS, are noted."""
    scope = call.scope
    bits = BITS[scope.dtypes[result]]
    dims = scope.shapes[result].axes
    elements = FOLLOW[call.op](call, result)
    if elements is None or dims is None or len(dims) > 1 or len(elements) > LIMIT:
        return
    if dims and isinstance(dims[0], int) and dims[0] != len(elements):
        return
    if not dims and len(elements) != 1:
        return
    scope.elements[result] = tuple([_within(element, bits) for element in elements])


def _within(element: Size, bits: int) -> Size:
    """An element that its type holds; any other would wrap."""
    return element if not isinstance(element, int) or -(1 << bits) <= element < 1 << bits else UNKNOWN


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
    shape = call.shape(0)
    return None if shape is None or not shape.static else (num_elements(shape),)


def _same(call: Call, _: str) -> Elements | None:
    return call.elements(0)


def _reshaped(call: Call, result: str) -> Elements | None:
    """The elements of a vector or scalar in their order."""
    elements = call.elements(0)
    length = call.scope.shapes[result].axes
    return elements if length in ((), (len(elements or ()),)) else None


def _gather(call: Call, _: str) -> Elements | None:
    elements, dims = call.elements(0), call.dims(0)
    indices = call.scope.ints(call.inputs[1]) if call.has(1) else None
    if elements is None or indices is None or dims is None or len(dims) != 1 or call.number("axis", 0) not in (0, -1):
        return None
    if not all(-len(elements) <= at < len(elements) for at in indices):
        return None
    return tuple([elements[at] for at in indices])


def _slice(call: Call, _: str) -> Elements | None:
    elements, dims = call.elements(0), call.dims(0)
    if elements is None or dims is None or len(dims) != 1:
        return None
    start, end, axis, step = _bounds(call)
    if start is None or end is None or step is None or axis not in (0, -1):
        return None
    taken = cut(len(elements), start, end, step)
    return None if taken is None else [elements[at] for at in taken]


def _bounds(call: Call) -> list[int | None]:
    """Start, end, axis and step of a slice along one axis; None for one that is not known."""
    names = ("starts", "ends", "axes", "steps")
    found: list[int | None] = []
    for at, name in enumerate(names, 1):
        default = (0,) if name == "axes" else (1,) if name == "steps" else None
        if call.version < 10:  # noqa: PLR2004 -- attributes before
            held = call.list(name) or default
        else:
            held = call.scope.ints(call.inputs[at]) if call.has(at) else default
        found.append(held[0] if held is not None and len(held) == 1 else None)
    return found


def _concat(call: Call, _: str) -> Elements | None:
    sizes: list[Size] = []
    for index in range(len(call.inputs)):
        dims, elements = call.dims(index), call.elements(index)
        if dims is None or len(dims) != 1 or not isinstance(dims[0], int) or dims[0] > LIMIT:
            return None
        sizes.extend((UNKNOWN,) * dims[0] if elements is None else elements)
    return sizes


def _arithmetic(call: Call, _: str) -> Elements | None:
    """Compute element by element where both are numbers; a single element is combined with all."""
    left, right = call.elements(0), call.elements(1)
    if not left or not right:
        return None
    count = max(len(left), len(right))
    if {len(left), len(right)} - {1, count}:
        return None
    pairs = zip(left * (count // len(left)), right * (count // len(right)), strict=True)
    return [_computed(call.op, *pair) for pair in pairs]


def _computed(op: str, a: Size, b: Size) -> Size:
    if not isinstance(a, int) or not isinstance(b, int):
        return a if op in ("Mul", "Div") and b == 1 else a if op in ("Add", "Sub") and b == 0 else UNKNOWN
    if op == "Div":
        return a // b if a >= 0 and b > 0 else UNKNOWN
    return a + b if op == "Add" else a - b if op == "Sub" else a * b


FOLLOW: dict[str, Callable[[Call, str], Elements | None]] = {
    "Shape": _shape,
    "Size": _size,
    "Identity": _same,
    "Cast": _same,
    "Unsqueeze": _reshaped,
    "Squeeze": _reshaped,
    "Reshape": _reshaped,
    "Gather": _gather,
    "Slice": _slice,
    "Concat": _concat,
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _arithmetic),
}

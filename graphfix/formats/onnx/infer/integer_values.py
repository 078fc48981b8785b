"""What small integer tensors hold: the sizes that shape arithmetic passes along, as far as they can be followed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import onnx
from onnx import AttributeProto, NodeProto, TensorProto

from graphfix.shapes.shape import UNKNOWN, Shape, Size

if TYPE_CHECKING:
    from graphfix.formats.onnx.infer.scope import GraphScope

LIMIT = 64
"""Integer tensors of more elements are no shapes."""
INTEGERS = (TensorProto.INT64, TensorProto.INT32)
WHOLE = (*INTEGERS, TensorProto.DOUBLE)
"""Before opset 9 a Constant node can't hold integers: a shape is written in float64 and cast."""


def enter(scope: GraphScope, name: str, tensor: TensorProto) -> None:
    """Note the elements of a small constant of whole numbers."""
    if tensor.data_type not in WHOLE or len(tensor.dims) > 1 or (tensor.dims and tensor.dims[0] > LIMIT):
        return
    if tensor.data_location == TensorProto.EXTERNAL:
        return
    elements = onnx.numpy_helper.to_array(tensor).reshape(-1).tolist()
    if all(isinstance(element, int) or element.is_integer() for element in elements):
        scope.elements[name] = tuple(map(int, elements))


def attributes(node: NodeProto) -> dict[str, object]:
    """Integer attributes by name: an int, or a tuple of ints."""
    found: dict[str, object] = {}
    for attribute in node.attribute:
        if attribute.type == AttributeProto.INT and not attribute.ref_attr_name:
            found[attribute.name] = attribute.i
        elif attribute.type == AttributeProto.INTS:
            found[attribute.name] = tuple(attribute.ints)
    return found


def node(scope: GraphScope, proto: NodeProto, op: str, result: str) -> None:
    """Note what the first result of a standard operator that FOLLOW has holds."""
    if op == "Constant" or scope.dtypes.get(result, TensorProto.INT64) in INTEGERS:
        FOLLOW[op](scope, proto)


def _constant(scope: GraphScope, proto: NodeProto) -> None:
    name = proto.output[0]
    for attribute in proto.attribute:
        if attribute.name == "value" and attribute.type == AttributeProto.TENSOR:
            scope.shapes[name] = Shape(tuple(attribute.t.dims))
            enter(scope, name, attribute.t)
        elif attribute.name in ("value_int", "value_ints") and not attribute.ref_attr_name:
            scope.elements[name] = (attribute.i,) if attribute.name == "value_int" else tuple(attribute.ints)


def _shape(scope: GraphScope, proto: NodeProto) -> None:
    name, shape = proto.output[0], scope.shape(proto.input[0])
    options = attributes(proto)
    if shape.axes is None:
        scope.unranked[name] = shape
        return
    start, end = options.get("start", 0), options.get("end", len(shape.axes))
    if isinstance(start, int) and isinstance(end, int):
        scope.elements[name] = shape.axes[start:end]


def _same(scope: GraphScope, proto: NodeProto) -> None:
    elements = scope.vector(proto.input[0])
    if elements is not None:
        scope.elements[proto.output[0]] = elements


def _gather(scope: GraphScope, proto: NodeProto) -> None:
    elements, indices = scope.vector(proto.input[0]), scope.ints(proto.input[1])
    if elements is not None and indices is not None and all(-len(elements) <= at < len(elements) for at in indices):
        scope.elements[proto.output[0]] = tuple(elements[at] for at in indices)


def _slice(scope: GraphScope, proto: NodeProto) -> None:
    elements = scope.vector(proto.input[0])
    if elements is None:
        return
    options = attributes(proto)
    bounds = [options.get("starts"), options.get("ends"), (0,), (1,)]
    for at, name in enumerate(proto.input[1:5]):
        if name:
            bounds[at] = scope.ints(name)
    if all(isinstance(bound, tuple) and len(bound) == 1 for bound in bounds):
        start, end, _, step = (bound[0] for bound in bounds if isinstance(bound, tuple))
        if step:
            scope.elements[proto.output[0]] = elements[start:end:step]


def _concat(scope: GraphScope, proto: NodeProto) -> None:
    sizes: list[Size] = []
    for name in proto.input:
        elements = scope.vector(name)
        if elements is None:
            axes = scope.shape(name).axes
            if axes is None or len(axes) != 1 or not isinstance(axes[0], int) or axes[0] > LIMIT:
                return
            elements = (UNKNOWN,) * axes[0]
        sizes.extend(elements)
    scope.elements[proto.output[0]] = tuple(sizes)


def _arithmetic(scope: GraphScope, proto: NodeProto) -> None:
    """Compute element by element where both are numbers; a single element is combined with all."""
    left, right = (scope.vector(name) for name in proto.input)
    if not left or not right:
        return
    count = max(len(left), len(right))
    if {len(left), len(right)} - {1, count}:
        return
    pairs = zip(left * (count // len(left)), right * (count // len(right)), strict=True)
    scope.elements[proto.output[0]] = tuple(_computed(proto.op_type, *pair) for pair in pairs)


def _computed(op: str, a: Size, b: Size) -> Size:
    if not isinstance(a, int) or not isinstance(b, int):
        return a if op in ("Mul", "Div") and b == 1 else a if op in ("Add", "Sub") and b == 0 else UNKNOWN
    if op == "Div":
        return a // b if a >= 0 and b > 0 else UNKNOWN
    return a + b if op == "Add" else a - b if op == "Sub" else a * b


FOLLOW: dict[str, Callable[[GraphScope, NodeProto], None]] = {
    "Constant": _constant,
    "Shape": _shape,
    "Identity": _same,
    "Cast": _same,
    "Unsqueeze": _same,
    "Squeeze": _same,
    "Reshape": _same,
    "Gather": _gather,
    "Slice": _slice,
    "Concat": _concat,
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _arithmetic),
}

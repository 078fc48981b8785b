"""What small integer tensors hold: the sizes that shape arithmetic passes along, as far as they can be followed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import onnx
from onnx import AttributeProto, NodeProto, TensorProto

from graphfix.shapes import UNKNOWN, Shape, Size

if TYPE_CHECKING:
    from graphfix.formats.onnx.infer import Scope

LIMIT = 64
"""Integer tensors of more elements are no shapes."""
INTEGERS = (TensorProto.INT64, TensorProto.INT32)


def enter(scope: Scope, name: str, tensor: TensorProto) -> None:
    """Note the elements of a small integer constant."""
    if tensor.data_type not in INTEGERS or len(tensor.dims) > 1 or (tensor.dims and tensor.dims[0] > LIMIT):
        return
    if tensor.data_location == TensorProto.EXTERNAL:
        return
    values = tuple(int(value) for value in onnx.numpy_helper.to_array(tensor).reshape(-1))
    scope.literals[name] = values
    if all(value >= 0 for value in values):
        scope.contents[name] = Shape(values)


def attributes(node: NodeProto) -> dict[str, object]:
    """Integer attributes by name: an int, or a tuple of ints."""
    found: dict[str, object] = {}
    for attribute in node.attribute:
        if attribute.type == AttributeProto.INT and not attribute.ref_attr_name:
            found[attribute.name] = attribute.i
        elif attribute.type == AttributeProto.INTS:
            found[attribute.name] = tuple(attribute.ints)
    return found


def node(scope: Scope, proto: NodeProto, domain: str) -> None:
    """Note what the first result of a shape computation holds."""
    follow = FOLLOW.get(proto.op_type) if not domain else None
    if follow is not None and proto.output and proto.output[0]:
        follow(scope, proto)


def _constant(scope: Scope, proto: NodeProto) -> None:
    name = proto.output[0]
    for attribute in proto.attribute:
        if attribute.name == "value" and attribute.type == AttributeProto.TENSOR:
            scope.shapes[name] = Shape(tuple(attribute.t.dims))
            enter(scope, name, attribute.t)
        elif attribute.name in ("value_int", "value_ints") and not attribute.ref_attr_name:
            values = (attribute.i,) if attribute.name == "value_int" else tuple(attribute.ints)
            scope.literals[name] = values
            if all(value >= 0 for value in values):
                scope.contents[name] = Shape(values)


def _shape(scope: Scope, proto: NodeProto) -> None:
    shape = scope.shape(proto.input[0])
    options = attributes(proto)
    if not options:
        scope.contents[proto.output[0]] = shape
    elif shape.axes is not None:
        start, end = options.get("start", 0), options.get("end", len(shape.axes))
        if isinstance(start, int) and isinstance(end, int):
            scope.contents[proto.output[0]] = Shape(shape.axes[start:end])


def _same(scope: Scope, proto: NodeProto) -> None:
    content = scope.content(proto.input[0])
    if content is not None:
        scope.contents[proto.output[0]] = content
    literal = scope.ints(proto.input[0])
    if literal is not None:
        scope.literals[proto.output[0]] = literal


def _gather(scope: Scope, proto: NodeProto) -> None:
    content, indices = scope.content(proto.input[0]), scope.ints(proto.input[1])
    if content is None or content.axes is None or indices is None:
        return
    sizes = content.axes
    if all(-len(sizes) <= index < len(sizes) for index in indices):
        scope.contents[proto.output[0]] = Shape(tuple(sizes[index] for index in indices))


def _slice(scope: Scope, proto: NodeProto) -> None:
    content = scope.content(proto.input[0])
    if content is None or content.axes is None:
        return
    options = attributes(proto)
    bounds = [options.get("starts"), options.get("ends"), (0,), (1,)]
    for at, name in enumerate(proto.input[1:5]):
        if name:
            bounds[at] = scope.ints(name)
    if all(isinstance(bound, tuple) and len(bound) == 1 for bound in bounds):
        start, end, _, step = (bound[0] for bound in bounds if isinstance(bound, tuple))
        if step:
            scope.contents[proto.output[0]] = Shape(content.axes[start:end:step])


def _concat(scope: Scope, proto: NodeProto) -> None:
    sizes: list[Size] = []
    for name in proto.input:
        content = scope.content(name)
        if content is not None and content.axes is not None:
            sizes.extend(content.axes)
            continue
        shape = scope.shape(name)
        if shape.axes is None or len(shape.axes) != 1 or not isinstance(shape.axes[0], int) or shape.axes[0] > LIMIT:
            return
        sizes.extend([UNKNOWN] * shape.axes[0])
    scope.contents[proto.output[0]] = Shape(tuple(sizes))


FOLLOW: dict[str, Callable[[Scope, NodeProto], None]] = {
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
}

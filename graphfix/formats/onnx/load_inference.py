"""Find the values for which onnx's shape inference, which onnxruntime runs at load, contradicts the rules.

onnxruntime plans buffers by inferred shapes. A wrong shape is harmless until a value of the same shape may share the
buffer: then the run ends with "Shape mismatch attempting to re-use buffer". `check_load` refuses the edits that could
make such a value, and the folding of shape arithmetic where it lets the inference see a size that it then gets wrong.
The main graph is examined; bodies and functions are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from graphfix.formats.onnx.edit.unroll import every_node
from graphfix.formats.onnx.file.messages import declared, write_dims
from graphfix.formats.onnx.file.proto import GraphProto, ModelProto, TensorProto, TypeProto, ValueInfoProto
from graphfix.formats.onnx.view import onnx_type
from graphfix.formats.onnx.wrong_inference import may_be_wrong, slices_backwards
from graphfix.graph.edits import Edit, Evaluate, Fold, Lift, Refused, Replace, Stretch
from graphfix.graph.view import Graph, Node, Value
from graphfix.shapes.shape import Shape, with_axes

Told: TypeAlias = tuple[int | str | None, ...]
"""The dims that inference returns: a number, a symbol, or None where it returns none."""

FEW_BYTES = 1024
"""Constants up to this size are given to the inference of one operator: it reads no larger ones."""


def wrong_shapes(proto: ModelProto, main: Graph) -> dict[str, tuple[Told, Shape]]:
    """Return (inferred dims, right shape) by name of each value of the main graph that is inferred wrongly.

    `main` is the view of the main graph. Models without an operator of `wrong_inference` are not inferred.
    """
    if not any(map(may_be_wrong, proto.graph.node)) and not any(map(slices_backwards, main.nodes)):
        return {}
    inferred = _inferred(proto).graph
    told = {
        info.name: dims for info in (*inferred.value_info, *inferred.output) if (dims := declared(info)) is not None
    }
    results = [value for node in main.nodes for value in node.results if value is not None and value.name in told]
    return {
        value.name: (tuple(told[value.name]), value.shape)
        for value in results
        if _contradicts(tuple(told[value.name]), value.shape)
    }


def _inferred(proto: ModelProto) -> ModelProto:
    """Return a model with the shapes that onnx infers; with those it stores where onnx's inference refuses it."""
    from onnx.shape_inference import InferenceError, infer_shapes

    bare = _without_large_constants(proto)
    for named in (*bare.opset_import, *every_node(bare.graph.node)):
        if named.domain == "ai.onnx":  # the standard set's other name, which onnx's inference does not know
            named.domain = ""
    try:
        return infer_shapes(bare, data_prop=True)
    except InferenceError:  # a stored shape is wrong: onnxruntime takes the inferred one
        _drop_stored(bare.graph)
    try:
        return infer_shapes(bare, data_prop=True)
    except InferenceError:
        return bare


def _without_large_constants(proto: ModelProto) -> ModelProto:
    """Return a copy of a model in which large constants of the main graph have no elements."""
    bare = ModelProto(ir_version=proto.ir_version, opset_import=proto.opset_import, functions=proto.functions)
    graph = proto.graph
    bare.graph.node.extend(graph.node)
    bare.graph.input.extend(graph.input)
    bare.graph.output.extend(graph.output)
    bare.graph.value_info.extend(graph.value_info)
    for tensor in graph.initializer:
        small = tensor.ByteSize() < FEW_BYTES and not tensor.external_data
        bare.graph.initializer.append(
            tensor if small else TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        )
    return bare


def _drop_stored(graph: GraphProto) -> None:
    """Drop the stored shapes of all results of a graph, those of its outputs too."""
    del graph.value_info[:]
    for value in graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")


def hidden_shapes(proto: ModelProto, main: Graph) -> dict[str, tuple[Told, Shape]]:
    """Return (inferred dims, right shape) by name of each value that is inferred wrongly once its operands are known.

    Each operator of `wrong_inference` is inferred alone, with the operands' shapes of the view `main`.
    """
    suspect = {name for node in proto.graph.node if may_be_wrong(node) for name in node.output if name}
    if not suspect:
        return {}
    shapes = {
        value.name: value for node in main.nodes for value in (*node.operands, *node.results) if value is not None
    }
    small = {tensor.name: tensor for tensor in proto.graph.initializer if tensor.ByteSize() < FEW_BYTES}
    found: dict[str, tuple[Told, Shape]] = {}
    for node in proto.graph.node:
        operands = [shapes[name] for name in node.input if name in shapes]
        if suspect.isdisjoint(node.output) or not all(value.shape.static for value in operands):
            continue
        alone = ModelProto(ir_version=proto.ir_version, opset_import=proto.opset_import)
        alone.graph.node.append(node)
        alone.graph.input.extend(ValueInfoProto(name=value.name, type=_type_of(value)) for value in operands)
        alone.graph.initializer.extend(small[name] for name in dict.fromkeys(node.input) if name in small)
        alone.graph.output.extend(ValueInfoProto(name=name) for name in node.output if name)
        found |= wrong_shapes(alone, main)
    return found


def _type_of(value: Value) -> TypeProto:
    declared_type = TypeProto()
    declared_type.tensor_type.elem_type = onnx_type(value.dtype)
    write_dims(declared_type.tensor_type, value.shape.json or ())
    return declared_type


def check_folding(hidden: Mapping[str, tuple[Told, Shape]], node: Node) -> None:
    """Raise Refused if a value that is inferred wrongly, once its operands are known, is computed from the node's."""
    reached = {value.name for value in node.results if value is not None}
    for later in node.graph.nodes if hidden else ():
        if not reached.isdisjoint(value.name for value in later.operands if value is not None):
            reached.update(value.name for value in later.results if value is not None)
    for name, (told, shape) in hidden.items():
        if name in reached:
            raise Refused(f"{_claim(name, told, shape)}, once this is a constant")


def _contradicts(told: Told, shape: Shape) -> bool:
    dims = shape.json
    if dims is None:
        return False
    pairs = zip(told, dims, strict=False)
    return len(told) != len(dims) or any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)


def check_load(wrong: Mapping[str, tuple[Told, Shape]], node: Node, edits: Sequence[Edit]) -> None:
    """Raise Refused if a value that the edits make may share a buffer with a value of a wrong inferred shape."""
    edits = [edit for edit in edits if not isinstance(edit, Fold | Evaluate)]
    for value in (*node.operands, *node.results) if any(_adds_nodes(edit) for edit in edits) else ():
        if value is not None and value.name in wrong:
            raise Refused(_reason(value.name, *wrong[value.name]))
    made = [dims for dims in _made(node, edits) if dims is not None and None not in dims]
    for name, (told, shape) in wrong.items():
        if told in made:
            raise Refused(_reason(name, told, shape))


def _adds_nodes(edit: Edit) -> bool:
    return isinstance(edit, Lift | Stretch | Replace)


def _made(node: Node, edits: Sequence[Edit]) -> list[Told | None]:
    """Return the dims of the values that lifts and stretches make, None where a dim is not known."""
    made: list[Shape] = []
    for edit in edits:
        if isinstance(edit, Lift):
            made.append(with_axes(node.operand(edit.operand).shape, edit.axes))
        elif isinstance(edit, Stretch):
            made.append(edit.to)
    return [None if shape.json is None else tuple(shape.json) for shape in made]


def _reason(name: str, told: Told, shape: Shape) -> str:
    return f"{_claim(name, told, shape)}: a new value could share its buffer"


def _claim(name: str, told: Told, shape: Shape) -> str:
    right = _notation(tuple(shape.json or ()))
    return f"onnx's inference at load takes {_notation(told)} for '{name}', which is {right}"


def _notation(dims: Told) -> str:
    return f"[{','.join('?' if dim is None else str(dim) for dim in dims)}]"

"""What onnx's shape inference says: of the whole first file, and of one node on operands of known sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import onnx
from onnx import NodeProto, TensorProto, numpy_helper

from graphfix.checker.files.onnx.schema import schema
from graphfix.checker.proof import constant_folding
from graphfix.checker.proof.sizes import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from onnx import GraphProto, ModelProto, TypeProto, ValueInfoProto
    from onnx.defs import OpSchema

    from graphfix.checker.proof.onnx.operands import Call
    from graphfix.checker.proof.onnx.shapes import Dims
    from graphfix.checker.proof.terms import View

MERGED_BRANCHES_UNTIL = 11
"""Before it onnx infers for the result of an If the shape of one branch."""


@dataclass(slots=True, eq=False)
class Inference:
    """What onnx's inference says of the first file's values, asked when first needed: ranks and numbers only.

    Stored shapes are taken out before, as claims; so are initializers that a caller may override. The names that
    inference makes for sizes are not used.
    """

    model: ModelProto
    graphs: dict[int, tuple[GraphProto, GraphProto]] | None = None
    """By identity, which holds as long as the graph itself is held beside: what onnx made of it."""
    dims: dict[int, dict[str, Dims]] = field(default_factory=dict)

    def of(self, graph: GraphProto, name: str) -> Dims:
        """Return the dims of a value of a graph of the file; None where the rank is not known."""
        if self.graphs is None:
            self.graphs = self._inferred()
        known = self.dims.get(id(graph))
        if known is None:
            if id(graph) not in self.graphs:
                return None
            inferred = self.graphs[id(graph)][1]
            infos = (*inferred.value_info, *inferred.output)
            known = self.dims[id(graph)] = {info.name: _dims(info) for info in infos}
        return known.get(name)

    def _inferred(self) -> dict[int, tuple[GraphProto, GraphProto]]:
        bare = onnx.ModelProto()
        bare.CopyFrom(self.model)
        _strip(bare.graph, main=True)
        version = next((entry.version for entry in bare.opset_import if entry.domain in ("", "ai.onnx")), 1)
        if version < MERGED_BRANCHES_UNTIL and any(node.op_type == "If" for node in bare.graph.node):
            return {}
        try:
            inferred = onnx.shape_inference.infer_shapes(bare, data_prop=True)
        except (onnx.shape_inference.InferenceError, ValueError):
            return {}
        return {id(one): (one, other) for one, other in _paired(self.model.graph, inferred.graph)}


def _strip(graph: GraphProto, *, main: bool) -> None:
    del graph.value_info[:]
    for info in (*graph.output, *(() if main else graph.input)):
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
    if main:
        inputs = {info.name for info in graph.input}
        kept = [tensor for tensor in graph.initializer if tensor.name not in inputs]
        if len(kept) < len(graph.initializer):
            del graph.initializer[:]
            graph.initializer.extend(kept)
    for body in bodies(graph.node):
        _strip(body, main=False)


def bodies(nodes: Sequence[NodeProto]) -> Iterator[GraphProto]:
    """Return the bodies that nodes have as attributes, in order."""
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield attribute.g
            yield from attribute.graphs


def _paired(graph: GraphProto, inferred: GraphProto) -> Iterator[tuple[GraphProto, GraphProto]]:
    yield graph, inferred
    for one, other in zip(bodies(graph.node), bodies(inferred.node), strict=False):
        yield from _paired(one, other)


def _dims(info: ValueInfoProto) -> Dims:
    kind = info.type.tensor_type
    if not info.type.HasField("tensor_type") or not kind.HasField("shape"):
        return None
    return tuple(dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None for dim in kind.shape.dim)


def alone(call: Call, index: int) -> Dims:
    """Return the dims of result `index`; None where its rank is not known.

    It sees what the operands are now, with bound sizes and computed constants: in a body or a function as well, and
    behind what inference on the whole file does not see through. For an element type that is not known one stands that
    the operator takes: no size follows from it.
    """
    if call.domain or any(view is not None and numbers(view.sizes) is None for view in call.views):
        return None
    known = schema(call.op, call.domain, call.since)
    if known is None or any(given.HasField("g") or given.graphs for given in call.attributes.values()):
        return None
    given = {f"operand{at}": view for at, view in enumerate(call.views) if view is not None}
    names = ["" if view is None else f"operand{at}" for at, view in enumerate(call.views)]
    node = NodeProto(op_type=call.op, input=names, output=call.outputs)
    node.attribute.extend(call.attributes.values())
    constants = {name: tensor for name, view in given.items() if (tensor := _tensor(view)) is not None}
    try:
        types = {name: _type(known, names.index(name), view, constants.get(name)) for name, view in given.items()}
        found = onnx.shape_inference.infer_node_outputs(known, node, types, constants)
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, ValueError):
        return None
    result = found.get(call.outputs[index])
    if result is None or not result.tensor_type.HasField("shape"):
        return None
    return tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in result.tensor_type.shape.dim)


def _type(known: OpSchema, at: int, view: View, constant: TensorProto | None) -> TypeProto:
    """Return the type of an operand: of a constant its own, else float32 where the operator takes it."""
    taken = sorted(known.inputs[min(at, len(known.inputs) - 1)].types)
    name = "tensor(float)" if "tensor(float)" in taken or not taken else taken[0]
    code = TensorProto.DataType.Value(name.removeprefix("tensor(").removesuffix(")").upper())
    return onnx.helper.make_tensor_type_proto(code if constant is None else constant.data_type, numbers(view.sizes))


def _tensor(view: View) -> TensorProto | None:
    array = constant_folding.literal(view)
    return None if array is None else numpy_helper.from_array(array)

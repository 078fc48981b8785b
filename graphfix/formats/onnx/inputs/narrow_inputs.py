"""Inputs of int64 that become int32: each is cast back where the graph begins, under a name of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from onnx import helper

from graphfix.formats.onnx.file.messages import subgraphs
from graphfix.results.onnx_messages import GraphProto, ModelProto, NodeProto, TensorProto


def narrow(proto: ModelProto, kept: Collection[str], fresh: Callable[[str], str]) -> list[str]:
    """Declare every input of int64 but `kept` that has no default as int32; return their names.

        ids:int64[N,T] -> Gather        ids:int32[N,T] -> Cast -> ids_int64 -> Gather

    Whoever read the input, in bodies too, reads the result of the Cast, and an output that is the input is one of it.
    """
    graph, held = proto.graph, {tensor.name for tensor in proto.graph.initializer} | set(kept)
    held |= {tensor.values.name for tensor in graph.sparse_initializer}
    wide = [value for value in graph.input if value.name not in held and _is_wide(value.type.tensor_type.elem_type)]
    if not wide:
        return []
    outputs = {value.name for value in graph.output}
    narrowed = [value.name for value in wide if value.name not in outputs]  # one name can't have two types
    names = {name: fresh(f"{name}_int64") for name in narrowed}
    _rename(graph.node, names)
    for value in wide:
        if value.name in names:
            value.type.tensor_type.elem_type = TensorProto.INT32
    casts = [
        helper.make_node("Cast", [name], [wide_name], fresh(f"{name}_cast"), to=TensorProto.INT64)
        for name, wide_name in names.items()
    ]
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    return narrowed


def _is_wide(element_type: int) -> bool:
    return element_type == TensorProto.INT64


def _rename(nodes: Sequence[NodeProto], names: Mapping[str, str]) -> None:
    """Let nodes, and those of bodies inside them, read other names; a body's own names hide them."""
    for node in nodes:
        for at, name in enumerate(node.input):
            if name in names:
                node.input[at] = names[name]
    for _, _, body in subgraphs(nodes):
        own = _defined(body)
        _rename(body.node, {name: new for name, new in names.items() if name not in own})
        _rename_outputs(body, {name: new for name, new in names.items() if name not in own})


def _defined(body: GraphProto) -> set[str]:
    held = {tensor.name for tensor in body.initializer} | {value.name for value in body.input}
    return held | {name for node in body.node for name in node.output}


def _rename_outputs(body: GraphProto, names: Mapping[str, str]) -> None:
    """A body may return a value from outside of it."""
    for value in body.output:
        value.name = names.get(value.name, value.name)

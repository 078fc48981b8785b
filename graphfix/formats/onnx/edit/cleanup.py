"""Remove the nodes and constants that no node reads after the edits, and share payloads that would be written twice."""

from __future__ import annotations

from collections.abc import Callable

from graphfix.formats.neutral import editing
from graphfix.formats.neutral.insertion import rearrange
from graphfix.formats.onnx.edit.new_nodes import NodeBuilder
from graphfix.formats.onnx.edit.state import State
from graphfix.formats.onnx.edit.stored_shapes import drop_claims
from graphfix.graph.view import Graph, Node
from graphfix.results.onnx_messages import GraphProto, TensorProto


def drop_dead(state: State) -> None:
    """Remove the constants and nodes that are unused after the edits."""
    constants: dict[Graph, set[str]] = {}
    for value in editing.remove_dead(state, lambda node: _is_removable(state, node)):
        constants.setdefault(value.graph, set()).add(value.name)
    for graph, names in constants.items():
        holder = state.views.holders[graph]
        if isinstance(holder, GraphProto):
            _remove_initializers(holder, names)


def _is_removable(state: State, node: Node) -> bool:
    """Return whether a node without used results may be removed: it is not removed yet and contains no body."""
    if node.index in state.builders[node.graph].order.gone:
        return False
    attributes = state.message(node).attribute if node.index >= 0 else ()
    return not any(attribute.HasField("g") or attribute.graphs for attribute in attributes)


def share_payloads(state: State, builder: NodeBuilder, is_cut: Callable[[TensorProto], bool]) -> None:
    """Replace the lifted copy of a big constant by a Reshape, if the original is used too.

    Its payload is then written once.

    `is_cut` returns whether the payload of a tensor stayed in the source file, which is the case for big payloads only.
    """
    names: set[str] = set()
    for made, (source, axes) in builder.copies.items():
        tensor = builder.initializers.get(made)
        if tensor is None or not is_cut(tensor) or not source.is_used:
            continue
        readers = made.reads
        if any(reader.graph is not builder.graph for reader, _ in readers):
            continue
        names.add(made.name)
        lifted = builder.lifted(source, axes, min(builder.order.anchor(reader) for reader, _ in readers))
        if lifted.place is not None:
            builder.order.early.add(lifted.place)
        for reader, at in readers:
            state.put(reader, at, lifted)
    if names and isinstance(builder.holder, GraphProto):
        _remove_initializers(builder.holder, names)


def _remove_initializers(graph: GraphProto, names: set[str]) -> None:
    """Remove the initializers with these names, and their stored shapes. The order of the others does not change."""
    keys = [tensor.name in names for tensor in graph.initializer]
    rearrange(graph.initializer, keys)
    del graph.initializer[len(keys) - sum(keys) :]
    drop_claims(graph, names)

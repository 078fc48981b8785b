"""What is settled once all edits are carried out: what nobody reads goes, payloads stay single, shapes are stated."""

from __future__ import annotations

from collections.abc import Callable, Container

from onnx import FunctionProto, GraphProto, TensorProto, TypeProto, ValueInfoProto

from graphfix.formats.onnx.edit.editor import Editor
from graphfix.formats.onnx.edit.new_nodes import Desk
from graphfix.formats.onnx.view import Holder, onnx_type
from graphfix.graph.view import Graph, Node, Value

SIZES = "int64"
"""Shape arithmetic: what a new node computes of it, every tool infers."""
NO_TYPE = "?"
"""An element type that is not known: it can't be stated."""


def drop_unread(editor: Editor) -> None:
    """Remove the constants and nodes that only served what was edited."""
    pending = list(editor.unread)
    dropped: dict[Graph, set[str]] = {}
    while pending:
        value = pending.pop()
        if value in value.graph.outputs or value.is_read:
            continue
        node = value.producer
        if node is None:
            if value.kind == "constant":
                dropped.setdefault(value.graph, set()).add(value.name)
        elif _is_idle(editor, node):
            pending += [operand for operand in node.operands if operand is not None]
            editor.remove(node)
    for graph, names in dropped.items():
        holder = editor.views.holders[graph]
        if isinstance(holder, GraphProto):
            _remove_initializers(holder, names)


def _is_idle(editor: Editor, node: Node) -> bool:
    desk = editor.desks[node.graph]
    return (
        node.index >= 0
        and node.index not in desk.order.gone
        and not any(result in result.graph.outputs or result.is_read for result in node.results if result)
        and not any(attribute.HasField("g") or attribute.graphs for attribute in editor.message(node).attribute)
    )


def share_payloads(editor: Editor, desk: Desk, is_cut: Callable[[TensorProto], bool]) -> None:
    """A big constant that keeps other readers is not written twice: its lifted copy becomes a Reshape of it."""
    names: set[str] = set()
    for made, (source, axes) in desk.copies.items():
        tensor = desk.initializers.get(made)
        still_read = source in source.graph.outputs or source.is_read
        if tensor is None or not still_read or not is_cut(tensor):
            continue
        readers = made.reads
        if any(reader.graph is not desk.graph for reader, _ in readers):
            continue
        names.add(made.name)
        lifted = desk.lifted(source, axes, min(desk.order.anchor(reader) for reader, _ in readers))
        if lifted.place is not None:
            desk.order.early.add(lifted.place)
        for reader, at in readers:
            editor.put(editor.current(reader), at, lifted)
    if names and isinstance(desk.holder, GraphProto):
        _remove_initializers(desk.holder, names)


def drop_claims(graph: Holder, names: Container[str]) -> None:
    """Forget the stored shapes of values that are gone, or are constants now."""
    if isinstance(graph, GraphProto) and any(info.name in names for info in graph.value_info):
        kept = [info for info in graph.value_info if info.name not in names]
        del graph.value_info[:]
        graph.value_info.extend(kept)


def state_shapes(desk: Desk) -> None:
    """State the shapes of what was made and of what has other dims now; quantization notes follow their operands."""
    holder = desk.holder
    if isinstance(holder, FunctionProto):
        return
    stored = {info.name: info for info in holder.value_info}
    types: dict[object, ValueInfoProto] = {}
    made = [result for node in desk.graph.made for result in node.results if result is not None]
    values = [value for value in made if value.kind == "result" and value.dtype not in (SIZES, NO_TYPE)]
    for value in [*values, *(value for value in desk.restated if value.name in stored)]:
        if value.shape.axes is not None:
            info = types.get((value.dtype, value.shape))
            if info is None:
                info = ValueInfoProto(type=_stated_type(value, onnx_type(value)))
                types[value.dtype, value.shape] = info
            if value.name in stored:
                stored[value.name].type.CopyFrom(info.type)
            else:
                info.name = value.name
                holder.value_info.append(info)  # a copy
    notes = {note.tensor_name: note for note in holder.quantization_annotation}
    for value, source in [*_sources(desk)] if notes else []:
        if source.name in notes and value.name not in notes:
            copy = holder.quantization_annotation.add()
            copy.CopyFrom(notes[source.name])
            copy.tensor_name = value.name
            notes[value.name] = copy


def _sources(desk: Desk) -> list[tuple[Value, Value]]:
    """(new value, the value that it is a lift or stretch of)."""
    pairs = [(made, source) for made, (source, _) in desk.copies.items()]
    for node in desk.graph.made:
        value, first = node.results[0], node.operands[0] if node.operands else None
        if value is not None and first is not None and node.op in ("Reshape", "Unsqueeze", "Expand", "Tile"):
            pairs.append((value, first))
    return pairs


def _remove_initializers(graph: GraphProto, names: set[str]) -> None:
    """Drop initializers by name: the others keep their order."""
    keys = [tensor.name in names for tensor in graph.initializer]
    following = iter(keys)
    graph.initializer.sort(key=lambda _: next(following))
    del graph.initializer[len(keys) - sum(keys) :]
    drop_claims(graph, names)


def _stated_type(value: Value, code: int) -> TypeProto:
    """The type of a value of known rank, as a value_info states it; a size without a symbol of the file stays open."""
    stated = TypeProto()
    stated.tensor_type.elem_type = code
    stated.tensor_type.shape.SetInParent()
    for size in value.shape.json or ():
        dim = stated.tensor_type.shape.dim.add()
        if isinstance(size, int):
            dim.dim_value = size
        elif size is not None:
            dim.dim_param = size
    return stated

"""What follows once all edits are carried out: dead nodes go, payloads stay single, shapes are declared."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from graphfix.formats.neutral import editing
from graphfix.formats.neutral.insertion import rearrange
from graphfix.formats.onnx.edit.new_nodes import NodeBuilder
from graphfix.formats.onnx.edit.records import bytes_of, encoded, text_of, value_info_head
from graphfix.formats.onnx.edit.state import State
from graphfix.formats.onnx.file.messages import Holder, write_dims
from graphfix.formats.onnx.view import onnx_type
from graphfix.graph.view import Graph, Node, Value
from graphfix.results.onnx_messages import FunctionProto, GraphProto, TensorProto, TypeProto, ValueInfoProto

SIZES = "int64"
"""Shape arithmetic: what a new node computes of it, every tool infers."""
NO_TYPE = "?"
"""An element type that is not known: it can't be declared."""


def drop_dead(state: State) -> None:
    """Remove the constants and nodes that only served what was edited."""
    constants: dict[Graph, set[str]] = {}
    for value in editing.remove_dead(state, lambda node: _is_removable(state, node)):
        constants.setdefault(value.graph, set()).add(value.name)
    for graph, names in constants.items():
        holder = state.views.holders[graph]
        if isinstance(holder, GraphProto):
            _remove_initializers(holder, names)


def _is_removable(state: State, node: Node) -> bool:
    """Whether a node whose results nobody reads is still there, and has no body."""
    if node.index in state.builders[node.graph].order.gone:
        return False
    held = state.message(node).attribute if node.index >= 0 else ()
    return not any(attribute.HasField("g") or attribute.graphs for attribute in held)


def share_payloads(state: State, builder: NodeBuilder, is_cut: Callable[[TensorProto], bool]) -> None:
    """A big constant that keeps other readers is not written twice: its lifted copy becomes a Reshape of it."""
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


def drop_claims(graph: Holder, names: Container[str]) -> None:
    """Forget the stored shapes of values that are gone, or are constants now."""
    if isinstance(graph, GraphProto) and any(info.name in names for info in graph.value_info):
        kept = [info for info in graph.value_info if info.name not in names]
        del graph.value_info[:]
        graph.value_info.extend(kept)


def declare_shapes(builder: NodeBuilder, removed: Container[str], equal: Container[str] = ()) -> bytes:
    """Declare the shapes of what was made and of what has other dims now; quantization notes follow their operands.

    Returns the records of the new value infos, which are no messages of the graph yet.

    A symbol that is `equal` to others is not declared: onnxruntime plans its buffers by names, and nobody has told it.
    """
    holder = builder.holder
    if isinstance(holder, FunctionProto):
        return b""
    _copy_notes(builder, holder)
    stored = {info.name: info for info in holder.value_info}
    made = [
        value
        for node in builder.graph.made
        for value in node.results
        if value is not None and value.dtype not in (SIZES, NO_TYPE) and value.kind == "result"
    ]
    made = [value for value in made if value.shape.axes is not None and value.name not in removed]
    for value in [*made, *builder.reshaped] if stored else ():
        if value.name in stored and value.shape.axes is not None:
            stored[value.name].type.CopyFrom(_declared_type(value, equal))
    return _value_infos([value for value in made if value.name not in stored] if stored else made, equal)


def _value_infos(values: Sequence[Value], equal: Container[str]) -> bytes:
    """The records of new value infos: those of one type differ in their names."""
    new: list[str] = []
    around: dict[object, tuple[str, str]] = {}
    for value in values:
        name = value.name if value.name.isascii() else encoded(value.name)
        key = len(name), value.dtype, id(value.shape)
        known = around.get(key)
        if known is None:
            declared = text_of(ValueInfoProto(type=_declared_type(value, equal)).SerializeToString())
            known = around[key] = value_info_head(len(name), declared), declared
        new += (known[0], name, known[1])
    return bytes_of("".join(new))


def _copy_notes(builder: NodeBuilder, holder: GraphProto) -> None:
    """Let what was made of a quantized value have its quantization."""
    notes = {note.tensor_name: note for note in holder.quantization_annotation}
    for value, source in [*_sources(builder)] if notes else []:
        if source.name in notes and value.name not in notes:
            copy = holder.quantization_annotation.add()
            copy.CopyFrom(notes[source.name])
            copy.tensor_name = value.name
            notes[value.name] = copy


def _sources(builder: NodeBuilder) -> list[tuple[Value, Value]]:
    """List (new value, the value that it is a lift or stretch of)."""
    pairs = [(made, source) for made, (source, _) in builder.copies.items()]
    for node in builder.graph.made:
        value, first = node.results[0], node.operands[0] if node.operands else None
        if value is not None and first is not None and node.op in ("Reshape", "Unsqueeze", "Expand", "Tile"):
            pairs.append((value, first))
    return pairs


def _remove_initializers(graph: GraphProto, names: set[str]) -> None:
    """Drop initializers by name: the others keep their order."""
    keys = [tensor.name in names for tensor in graph.initializer]
    rearrange(graph.initializer, keys)
    del graph.initializer[len(keys) - sum(keys) :]
    drop_claims(graph, names)


def _declared_type(value: Value, equal: Container[str]) -> TypeProto:
    """Return the type of a value of known rank for a value_info; a size without a symbol of the file stays open."""
    declared = TypeProto()
    declared.tensor_type.elem_type = onnx_type(value.dtype)
    dims = value.shape.json or ()
    write_dims(declared.tensor_type, [None if isinstance(size, str) and size in equal else size for size in dims])
    return declared

"""Update the shapes that a file stores for its values: declare new ones, correct wrong ones, and drop others.

onnxruntime plans buffers by stored shapes. A wrong shape is harmless until a new value may share its buffer.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from graphfix.formats.onnx.edit.new_nodes import NodeBuilder
from graphfix.formats.onnx.edit.records import bytes_of, encoded, text_of, value_info_head
from graphfix.formats.onnx.file.messages import Dims, Holder, declared, write_dims
from graphfix.formats.onnx.infer.scope import GraphScope
from graphfix.formats.onnx.view import onnx_type
from graphfix.graph.edits import Refused
from graphfix.graph.view import Graph, Value
from graphfix.results.onnx_messages import FunctionProto, GraphProto, TypeProto, ValueInfoProto
from graphfix.shapes.dim import Size


def restate(scope: GraphScope, value: Value, equal: Container[str]) -> None:
    """Correct the stored shape of a value. Raises Refused if its stored shape is not wrong.

    A symbol in `equal` is equal to other symbols and is left open.
    """
    wrong = scope.misstated.get(value.name)
    if wrong is None:
        raise Refused(f"the file states no wrong shape of '{value.name}'")
    for info in scope.stored():
        if info.name != value.name or declared(info) is None:
            continue
        if wrong.dims is None and value.kind == "input":  # onnxruntime needs the rank of a body's inputs.
            write_dims(info.type.tensor_type, [None] * value.shape.rank)
        elif wrong.dims is None:
            info.type.tensor_type.ClearField("shape")
        else:
            dims = [None if isinstance(size, str) and size in equal else size for size in wrong.dims]
            write_dims(info.type.tensor_type, dims)


def drop_underived(scope: GraphScope, graph: Graph) -> None:
    """Replace each number of a stored shape that shape inference can't compute by an open size.

    This is done only for a value that a new node reads, or whose stored shape is that of a new value. It must be called
    before new values are declared. Functions store no shapes.
    """
    if scope.graph is None:
        return
    read = {value.name for node in graph.made for value in node.operands if value is not None}
    shapes = set(_static_shapes(graph))
    for info in scope.graph.value_info:
        stored, shape = declared(info), scope.own_shape(info.name)
        if stored is None or shape is None or shape.axes is None or len(stored) != len(shape.axes):
            continue
        if (info.name in read or stored in shapes) and _has_underived_number(stored, shape.axes):
            write_dims(info.type.tensor_type, _without_underived(stored, shape.axes))


def _static_shapes(graph: Graph) -> Iterator[Dims]:
    """Yield the shapes of new values whose sizes are all numbers."""
    results: Iterator[Value | None] = (value for node in graph.made for value in node.results)
    for value in results:
        if value is not None and value.shape.static:
            yield tuple(value.shape.json or ())


def _without_underived(stored: Dims, computed: Sequence[Size]) -> list[int | str | None]:
    """Return a stored shape with an open size in place of each number that shape inference can't compute."""
    pairs = zip(stored, computed, strict=True)
    return [None if isinstance(said, int) and not isinstance(size, int) else said for said, size in pairs]


def _has_underived_number(stored: Dims, computed: Sequence[Size]) -> bool:
    """Return whether a stored size is a number although the computed size is not."""
    pairs = zip(stored, computed, strict=False)
    return any(isinstance(said, int) and not isinstance(size, int) for said, size in pairs)


# --- declarations, once all edits are carried out ---------------------------------------------------------------------

SIZES = "int64"
"""The element type of shape arithmetic. Its shapes are not declared, because every tool infers them."""
NO_TYPE = "?"
"""The unknown element type, which can't be declared."""


def drop_claims(graph: Holder, names: Container[str]) -> None:
    """Drop the stored shapes of the values `names`, which were removed or are constants now."""
    if isinstance(graph, GraphProto) and any(info.name in names for info in graph.value_info):
        kept = [info for info in graph.value_info if info.name not in names]
        del graph.value_info[:]
        graph.value_info.extend(kept)


def declare_shapes(builder: NodeBuilder, removed: Container[str], equal: Container[str] = ()) -> bytes:
    """Declare the shapes of new and reshaped values. Lifts and stretches get their source's quantization annotation.

    Return the serialized new value infos, which the caller adds to the graph's message. Symbols in `equal`, which are
    equal to other symbols, are not declared. onnxruntime plans its buffers by names and does not know that they are
    equal.
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
    """Return serialized new value infos. The bytes around the name are computed once for values of one type."""
    new: list[str] = []
    around: dict[object, tuple[str, str]] = {}
    for value in values:
        name = value.name if value.name.isascii() else encoded(value.name)
        key = len(name), value.dtype, id(value.shape)
        value_infos = around.get(key)
        if value_infos is None:
            declared = text_of(ValueInfoProto(type=_declared_type(value, equal)).SerializeToString())
            value_infos = around[key] = value_info_head(len(name), declared), declared
        new += (value_infos[0], name, value_infos[1])
    return bytes_of("".join(new))


def _copy_notes(builder: NodeBuilder, holder: GraphProto) -> None:
    """Copy the quantization annotation of each value to its lifts and stretches."""
    notes = {note.tensor_name: note for note in holder.quantization_annotation}
    for value, source in [*_sources(builder)] if notes else []:
        if source.name in notes and value.name not in notes:
            copy = holder.quantization_annotation.add()
            copy.CopyFrom(notes[source.name])
            copy.tensor_name = value.name
            notes[value.name] = copy


def _sources(builder: NodeBuilder) -> list[tuple[Value, Value]]:
    """Return pairs of a new value and the value of which it is a lift or stretch."""
    pairs = [(made, source) for made, (source, _) in builder.copies.items()]
    for node in builder.graph.made:
        value, first = node.results[0], node.operands[0] if node.operands else None
        if value is not None and first is not None and node.op in ("Reshape", "Unsqueeze", "Expand", "Tile"):
            pairs.append((value, first))
    return pairs


def _declared_type(value: Value, equal: Container[str]) -> TypeProto:
    """Return the type of a value of known rank, for a value info. A size without a symbol of the file is left open."""
    declared = TypeProto()
    declared.tensor_type.elem_type = onnx_type(value.dtype)
    dims = value.shape.json or ()
    write_dims(declared.tensor_type, [None if isinstance(size, str) and size in equal else size for size in dims])
    return declared

"""Carry out lifts, stretches and other shapes of operands on a TFLite model; tensors and operators are only added."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from graphfix.formats.neutral.repeated import cut
from graphfix.formats.tflite.edit.new_nodes import NodeBuilder
from graphfix.formats.tflite.edit.new_records import reshapes
from graphfix.formats.tflite.edit.state import State
from graphfix.formats.tflite.file.schema import item_bytes
from graphfix.graph.edits import Refused, Stretch
from graphfix.graph.view import Node, Value
from graphfix.shapes.dim import Shape
from graphfix.shapes.shape import broadcast, cstr_broadcastable, same_shape, with_axes

DEQUANTIZE = "DEQUANTIZE"
LARGEST_TOTAL = 2
"""All materialized constants together may have at most this many times the bytes of the file."""
NOT_TILED = frozenset({"complex128"})
"""Element types that BROADCAST_TO can repeat and TILE can't."""


# --- lift -----------------------------------------------------------------------------------------------------------


def lift(state: State, value: Value, axes: tuple[int, ...], reader: Node) -> Value:
    """Return the value with unit axes inserted at the positions `axes`, to be read by `reader`.

    A constant is lifted without an operator. If the value is the result of a DEQUANTIZE of a constant, the constant is
    lifted, and the DEQUANTIZE is copied.
    """
    builder = state.builders[value.graph]
    if value.kind == "constant":
        return builder.lifted_constant(value, axes)
    source = dequantized(value)
    if source is not None:
        return _again(state, value, lift(state, source, axes, reader), with_axes(value.shape, axes), axes, reader.index)
    return builder.lifted(value, axes, reader.index, reshaped=lifts(state, value, axes) == "RESHAPE")


def lifts(state: State, value: Value, axes: tuple[int, ...]) -> str:
    """Return the operator that lifts the value: "RESHAPE", or "EXPAND_DIMS" if the lifted shape needs it.

    A RESHAPE can have one free size and no size 0; EXPAND_DIMS can have any sizes. EXPAND_DIMS is also returned if the
    target supports only EXPAND_DIMS.
    """
    taken = state.movement is None or "RESHAPE" in state.movement or "EXPAND_DIMS" not in state.movement
    return "RESHAPE" if taken and reshapes(with_axes(value.shape, axes)) else "EXPAND_DIMS"


# --- stretch --------------------------------------------------------------------------------------------------------


def tiles(state: State, value: Value, to: Shape) -> bool:
    """Return whether a TILE stretches the value to the shape `to`, without a lift; if not, it is a BROADCAST_TO."""
    return tiles_lifted(state, value, to) and value.shape.rank == to.rank


def tiles_lifted(state: State, value: Value, to: Shape) -> bool:
    """Return whether a TILE can stretch the value to the shape `to`, after a lift to the rank of `to` if needed.

    All sizes must be numbers, TILE must support the element type, and the target must support TILE (or not BROADCAST_TO
    either).
    """
    is_static = to.static and value.shape.static
    taken = state.movement is None or "TILE" in state.movement or "BROADCAST_TO" not in state.movement
    return is_static and taken and value.dtype not in NOT_TILED


def stretch(state: State, before: Node, value: Value, edit: Stretch) -> Value:
    """Return the value stretched as `edit` describes, a constant or the result of new operators.

    `before` is the node as it was before its edits: sizes that are only known during the run are read from its
    operands.
    """
    builder, reader = state.builders[before.graph], before.index
    made = _constant(state, builder, value, edit.to, reader)
    if made is not None or edit.to.static:
        state.fixed.update(dict.fromkeys(operand for operand in before.operands if operand is not None))
    if made is not None:
        return made
    if edit.to.static:
        if tiles(state, value, edit.to):
            return builder.tiled(value, edit.to, reader)
        return builder.expanded(value, builder.integers(edit.to.numbers), broadcast(value.shape, edit.to), reader)
    for by in edit.by:
        if isinstance(by, int):
            other = before.operand(by).shape
            target = builder.shape_of(before.operand(by), reader)
        else:
            parts = [size if isinstance(size, int) else (before.operand(size[0]), size[1]) for size in by]
            other = Shape(tuple([part if isinstance(part, int) else part[0].shape.dims[part[1]] for part in parts]))
            target = builder.sizes(parts, reader)
        shape = broadcast(value.shape, other)
        if not same_shape(shape, other):
            meet = builder.merged if cstr_broadcastable(value.shape, other) is True else builder.chosen
            target = meet(builder.shape_of(value, reader), target, shape.rank, reader)
        value = builder.expanded(value, target, shape, reader)
    return value


def stretched_source(state: State, builder: NodeBuilder, value: Value, to: Shape) -> Value | None:
    """Return the constant that can be stored in the file as stretched elements; None if there is none.

    This is the value itself, or the constant that a DEQUANTIZE reads if the value is its result. The constant must be
    readable. Its stretched elements must not exceed `State.expand_limit`, and all constants together must not exceed
    the limit that `LARGEST_TOTAL` sets.
    """
    source = value if value.kind == "constant" else dequantized(value)
    if source is None or not to.static or not source.shape.static or source.dtype == "string":
        return None
    if source is not value and (depends_on_place(source) or 0 in to.dims):
        return None  # Without elements, a DEQUANTIZE with several scales would abort the process.
    if ("stretch", source, to) in builder.order.made:
        return source
    record = builder.subgraph.tensor(source)
    item = item_bytes(record.type)
    size, total = prod(to.numbers) * item, LARGEST_TOTAL * len(state.container.source.data)
    if record.sparse or record.external or size > state.expand_limit or state.added + size > total:
        return None
    return source if state.container.size(record.buffer) == prod(source.shape.numbers) * item else None


def _constant(state: State, builder: NodeBuilder, value: Value, to: Shape, reader: int) -> Value | None:
    """Return the value stretched to `to` as a stored constant; None if `stretched_source` returns None."""
    source = stretched_source(state, builder, value, to)
    if source is None:
        return None
    made = builder.order.made.get(("stretch", source, to))
    if made is None:
        record = builder.subgraph.tensor(source)
        data = repeated(state.container.data(record.buffer), source.shape.numbers, to.numbers, item_bytes(record.type))
        state.added += len(data)
        made = builder.materialized(source, to, data)
    return made if source is value else _again(state, value, made, to, (), reader)


def repeated(data: bytes, shape: Sequence[int], to: Sequence[int], item: int) -> bytes:
    """Repeat the size-1 axes of row-major elements of `item` bytes: [2,1] to [2,3] repeats each element three times.

    `shape` is right-aligned with `to`, and may have fewer axes. `data` has one element for each index of `shape`.
    """
    # numpy is not used, because importing it only for this would need a third of the memory and of the time of a run.
    if 0 in to:
        return b""
    run = item
    aligned = (*[1] * (len(to) - len(shape)), *shape)
    for have, want in zip(reversed(aligned), reversed(to), strict=True):
        if have != want:
            data = b"".join([data[start : start + run] * want for start in range(0, len(data), run)])
        run *= want
    return data


# --- constants in other shapes ----------------------------------------------------------------------------------------


def restate(state: State, value: Value, to: Shape, reader: Node) -> Value:
    """Return a constant with the shape `to`, to be read by `reader`.

    Size-1 axes may be added or dropped, and an axis along which the constant repeats may be cut to 1. If the value is
    the result of a DEQUANTIZE of a constant, that constant gets the shape, and the result of another DEQUANTIZE is
    returned.
    """
    source = dequantized(value)
    builder = state.builders[value.graph]
    if source is not None:
        made = restate(state, source, to, reader)
        copy = ("dequantized", made, value.dtype)
        found = builder.order.reuse(copy, reader.index) or _alike(state, value, made, reader)
        builder.order.made[copy] = found = found or _again(state, value, made, to, (), reader.index)
        return found
    key = ("restated", value, to)
    found = builder.order.made.get(key)
    if found is None:
        record, have, want = builder.subgraph.tensor(value), value.shape.numbers, to.numbers
        rank = max(len(have), len(want))
        have, padded = (1,) * (rank - len(have)) + have, (1,) * (rank - len(want)) + want
        data = cut(state.container.data(record.buffer), have, padded, item_bytes(record.type))
        found = state.held_constants(builder.subgraph).first(value, to, data)
        if found is None and have == padded:
            found = builder.on_its_buffer(value, builder.like(value, f"{value.name}_restated", to), to)
        if found is None:
            found = builder.constant(value, f"{value.name}_restated", to, data)
        builder.order.made[key] = found
    return found


def _alike(state: State, value: Value, source: Value, reader: Node) -> Value | None:
    """Return the result of another DEQUANTIZE that computes from `source` the same as `value`; None if there is none.

    `source` is a constant. The DEQUANTIZE is a node of the file before the reader.
    """
    builder = state.builders[value.graph]
    ours = builder.subgraph.tensor(value)
    for node, _ in source.reads:
        result = node.results[0] if node.op == DEQUANTIZE and 0 <= node.index < reader.index else None
        if result is not None and result.dtype == value.dtype:
            theirs = builder.subgraph.tensor(result)
            if theirs.quantization == ours.quantization and not theirs.variable:
                return result
    return None


# --- quantized operands ---------------------------------------------------------------------------------------------


def dequantized(value: Value) -> Value | None:
    """Return the constant that a DEQUANTIZE reads, if `value` is its result; otherwise None.

    Edits change the constant instead of the DEQUANTIZE's result.
    """
    producer = value.producer
    if producer is None or producer.op != DEQUANTIZE:
        return None
    source = producer.operands[0] if producer.operands else None
    return source if source is not None and source.kind == "constant" else None


def depends_on_place(source: Value) -> bool:
    """Return whether the last bit of a dequantized element may depend on the element's position.

    LiteRT's kernel for 8 bits and one scale computes elements in packets. The rest that does not fill a packet is
    computed by other instructions.
    """
    return source.dtype in ("int8", "uint8") and source.scales == 1


def _again(state: State, value: Value, source: Value, shape: Shape, axes: tuple[int, ...], reader: int) -> Value:
    """Return the result of a copy of the DEQUANTIZE that computes `value`; the copy reads the edited constant `source`.

    `shape` is the shape of the new result, and `axes` are the positions of unit axes that a lift inserted. Raises
    Refused if no node computes `value`.
    """
    builder = state.builders[value.graph]
    key = ("again", value, source)
    found = builder.order.reuse(key, reader)
    if found is None and value.place is not None:
        record = builder.like(value, f"{value.name}_{'lifted' if axes else 'stretched'}", shape, axes)
        made = builder.value(record, shape, value.dtype, "result")
        found = builder.order.made[key] = builder.copy(value.place, DEQUANTIZE, (source,), made, reader)
    if found is None:
        raise Refused(f"'{value.name}' has no producer")
    return found

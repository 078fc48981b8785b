"""Lifts and stretches of operands, carried out on a TFLite model: tensors and operators are only added."""

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
"""All materialized constants together take at most this many times the file's size."""
NOT_TILED = frozenset({"complex128"})
"""What BROADCAST_TO repeats and TILE does not."""


# --- lift -----------------------------------------------------------------------------------------------------------


def lift(state: State, value: Value, axes: tuple[int, ...], reader: Node) -> Value:
    """The value with unit axes at the positions `axes`, for `reader`."""
    builder = state.builders[value.graph]
    if value.kind == "constant":
        return builder.lifted_constant(value, axes)
    source = dequantized(value)
    if source is not None:
        return _again(state, value, lift(state, source, axes, reader), with_axes(value.shape, axes), axes, reader.index)
    return builder.lifted(value, axes, reader.index, reshaped=lifts(state, value, axes) == "RESHAPE")


def lifts(state: State, value: Value, axes: tuple[int, ...]) -> str:
    """What lifts it: a RESHAPE holds one free size, and takes 0 for another one; EXPAND_DIMS holds any."""
    taken = state.movement is None or "RESHAPE" in state.movement or "EXPAND_DIMS" not in state.movement
    return "RESHAPE" if taken and reshapes(with_axes(value.shape, axes)) else "EXPAND_DIMS"


# --- stretch --------------------------------------------------------------------------------------------------------


def tiles(state: State, value: Value, to: Shape) -> bool:
    """Whether a TILE stretches it, where one can: a number for each axis says how often."""
    return tiles_lifted(state, value, to) and value.shape.rank == to.rank


def tiles_lifted(state: State, value: Value, to: Shape) -> bool:
    """The same, of what is lifted to the rank of `to` first."""
    is_static = to.static and value.shape.static
    taken = state.movement is None or "TILE" in state.movement or "BROADCAST_TO" not in state.movement
    return is_static and taken and value.dtype not in NOT_TILED


def stretch(state: State, before: Node, value: Value, edit: Stretch) -> Value:
    """The value stretched, by the run-time sizes of the node's operands as they were before its edits."""
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
    """The constant to write out in full, where there is one and the limits allow it."""
    source = value if value.kind == "constant" else dequantized(value)
    if source is None or not to.static or not source.shape.static or source.dtype == "string":
        return None
    if source is not value and (depends_on_place(source) or 0 in to.dims):
        return None  # where it has no elements, a DEQUANTIZE of several scales ends the process
    if ("stretch", source, to) in builder.order.made:
        return source
    record = builder.subgraph.tensor(source)
    item = item_bytes(record.type)
    size, total = prod(to.numbers) * item, LARGEST_TOTAL * len(state.container.source.data)
    if record.sparse or record.external or size > state.expand_limit or state.added + size > total:
        return None
    return source if state.container.size(record.buffer) == prod(source.shape.numbers) * item else None


def _constant(state: State, builder: NodeBuilder, value: Value, to: Shape, reader: int) -> Value | None:
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

    `shape` is right-aligned with `to`, and may have fewer axes; `data` has an element for each index of `shape`.
    """
    # numpy would take a third of the memory and of the time of a run, to be imported for this alone.
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
    """A constant, or what a DEQUANTIZE makes of one, in another shape of the same numbers."""
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
    """The result of another DEQUANTIZE in front of the reader that makes the same of a constant."""
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
    """The constant that a DEQUANTIZE reads whose result this is: it is edited there."""
    producer = value.producer
    if producer is None or producer.op != DEQUANTIZE:
        return None
    source = producer.operands[0] if producer.operands else None
    return source if source is not None and source.kind == "constant" else None


def depends_on_place(source: Value) -> bool:
    """Whether the last bit of what a DEQUANTIZE makes of an element depends on the element's place.

    LiteRT's kernel for 8 bits and one scale computes elements in packets, and what fills none by other instructions.
    """
    return source.dtype in ("int8", "uint8") and source.scales == 1


def _again(state: State, value: Value, source: Value, shape: Shape, axes: tuple[int, ...], reader: int) -> Value:
    """The DEQUANTIZE whose result `value` is once more, on the edited constant."""
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

"""Lifts and stretches of operands, carried out on a TFLite model: tensors and operators are only added."""

from __future__ import annotations

from graphfix.formats.tflite.edit.constants import item_bytes, repeated
from graphfix.formats.tflite.edit.made import numbers
from graphfix.formats.tflite.edit.new_nodes import Desk
from graphfix.formats.tflite.edit.state import DEQUANTIZE, State, dequantized
from graphfix.graph.edits import Refused, Stretch, with_axes
from graphfix.graph.view import Node, Value
from graphfix.shapes.shape import Shape, broadcast, same

NOT_TILED = frozenset({"complex128"})
"""What BROADCAST_TO repeats and TILE does not."""


def lift(state: State, value: Value, axes: tuple[int, ...], reader: int) -> Value:
    """The value with unit axes at the positions `axes`, for the node at the place `reader`."""
    desk = state.desks[value.graph]
    if value.kind == "constant":
        return desk.lifted_constant(value, axes)
    source = dequantized(value)
    if source is not None:
        return _again(state, value, lift(state, source, axes, reader), with_axes(value.shape, axes), axes, reader)
    return desk.lifted(value, axes, reader)


def stretch(state: State, before: Node, value: Value, edit: Stretch) -> Value:
    """The value stretched, by the run-time sizes of the node's operands as they were before its edits."""
    desk, reader = state.desks[before.graph], before.index
    made = _constant(state, desk, value, edit.to, reader)
    if made is not None:
        state.pinned[before] = None
        return made
    if edit.to.static:
        state.pinned[before] = None
        if value.shape.static and value.dtype not in NOT_TILED:
            return desk.tiled(value, edit.to, reader)
        return desk.expanded(value, desk.integers(numbers(edit.to)), broadcast(value.shape, edit.to), reader)
    for by in edit.by:
        if isinstance(by, int):
            other = before.operand(by)
            shape = broadcast(value.shape, other.shape)
            target = desk.shape_of(other, reader)
            if not is_same(shape, other.shape):
                target = desk.merged(desk.shape_of(value, reader), target, shape.rank, reader)
        else:
            parts = [size if isinstance(size, int) else (before.operand(size[0]), size[1]) for size in by]
            target, shape = desk.sizes(parts, reader), broadcast(value.shape, edit.to)
        value = desk.expanded(value, target, shape, reader)
    return value


def _constant(state: State, desk: Desk, value: Value, to: Shape, reader: int) -> Value | None:
    source = state.source(desk, value, to)
    if source is None:
        return None
    made = desk.order.made.get(("stretch", source, to))
    if made is None:
        record = desk.scope.tensor(source)
        data = repeated(state.container.data(record.buffer), numbers(source.shape), numbers(to), item_bytes(record))
        state.added += len(data)
        made = desk.materialized(source, to, data)
    return made if source is value else _again(state, value, made, to, (), reader)


def _again(state: State, value: Value, source: Value, shape: Shape, axes: tuple[int, ...], reader: int) -> Value:
    """The DEQUANTIZE whose result `value` is once more, on the edited constant."""
    desk = state.desks[value.graph]
    key = ("again", value, source)
    found = desk.order.reuse(key, reader)
    if found is None and value.place is not None:
        record = desk.like(value, f"{value.name}_{'lifted' if axes else 'stretched'}", shape, axes)
        made = desk.value(record, shape, value.dtype, "result")
        found = desk.order.made[key] = desk.copy(value.place, DEQUANTIZE, (source,), made, reader)
    if found is None:
        raise Refused(f"'{value.name}' has no producer")
    return found


def is_same(one: Shape, other: Shape) -> bool:
    """Whether two shapes are provably equal."""
    return one.rank == other.rank and all(same(a, b) for a, b in zip(one.dims, other.dims, strict=True))

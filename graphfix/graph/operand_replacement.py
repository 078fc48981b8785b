"""Decide whether a broadcasting node keeps its result, in shape and bits, if its operands are replaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from graphfix.graph.broadcast import (
    MATRIX,
    Alignment,
    BroadcastOperand,
    align_anyhow,
    exemption,
    over_limit,
    taking_part,
)
from graphfix.graph.liveness import is_live
from graphfix.graph.redundant_nodes import constant
from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE
from graphfix.shapes.dim import Incompatible, Shape, same
from graphfix.shapes.shape import broadcast, same_shape

PAIR = 2
Operands: TypeAlias = Mapping[int, Value]
"""By operand index, the value that the node would read."""


def left_reason(node: Node, alignment: Alignment, operand: BroadcastOperand, *, stretched: bool) -> str | None:
    """Return why an operand must not be lifted (or, if `stretched`, stretched); None if the edit keeps every bit.

    Its catalogue row exempts it, or LiteRT would choose another kernel.
    """
    why = operand.operand.keep_dims if stretched else operand.operand.keep_rank
    found = exemption(alignment, operand, why)
    if found is not None or node.domain != TFLITE:
        return found
    from graphfix.graph.litert.kernels import other_kernel

    return other_kernel(node, alignment, operand, stretched=stretched)


def broadcast_operands(node: Node) -> Iterator[tuple[int, Value]]:
    """Return (index, value) of the operands that are broadcast, without an operand that others are broadcast onto."""
    onto = node.row.onto if node.row is not None else None
    return ((operand.index, value) for operand, value in taking_part(node) if operand.index != onto)


def reading(node: Node, read: Operands) -> Node:
    """Return a copy of the node that reads the values `read` instead, so that its alignment can be computed."""
    return node.reading(tuple(read.get(at, value) for at, value in enumerate(node.operands)))


def keeps_result(node: Node, before: Alignment, read: Operands, *, lifts: bool = False) -> bool:
    """Return whether the node's result keeps its shape if the node reads other operands.

    If `lifts` is set, the new operands only lack unit axes in front, so only the rank of the result may differ.
    """
    if not all(_is_matrix(node, node.operand(at), value) for at, value in read.items()) or becomes_square(node, read):
        return False
    other = reading(node, read)
    if node.domain == TFLITE:
        from graphfix.graph.litert.lookup_tables import changes_table

        if changes_table(node, other):
            return False
    try:
        after = align_anyhow(other)
    except Incompatible:
        return False
    if after is None or after.rank != before.rank:
        return False
    if lifts and before.rank:
        return True
    return same_shape(after.result, before.result) and not (before.onto and _checks_less(before, read))


def becomes_square(node: Node, read: Operands) -> bool:
    """Return whether an 8-bit product would read one value twice; XNNPACK rounds a square differently."""
    if node.domain != TFLITE or node.op != "MUL" or len(node.operands) != PAIR:
        return False
    if node.operand(0).dtype not in ("int8", "uint8"):
        return False
    one, two = (read.get(at, node.operand(at)) for at in range(PAIR))
    return one is two and node.operands[0] is not node.operands[1]


def _checks_less(before: Alignment, read: Operands) -> bool:
    """Return whether an operand that is broadcast onto a shape would no longer require one of its sizes."""
    rank = before.result.rank
    return any(
        not (same(was, now) or same_shape(Shape((was,)), broadcast(Shape((now,)), Shape((full_size,)))))
        for operand in before.operands
        if operand.index in read
        for was, now, full_size in zip(
            with_rank(operand.shape, rank).dims,
            with_rank(read[operand.index].ranked, rank).dims,
            before.result.dims,
            strict=True,
        )
    )


def _is_matrix(node: Node, was: Value, now: Value) -> bool:
    """Return whether an operand of a matrix product keeps its last two axes, which are not broadcast.

    True for any other node.
    """
    if node.row is None or node.row.style != "matmul" or was is now:
        return True
    ours, theirs = was.ranked, now.ranked
    return ours.rank >= MATRIX and same_shape(Shape(ours.dims[-MATRIX:]), Shape(theirs.dims[-MATRIX:]))


def keeps_bits(node: Node, before: Alignment, read: Operands) -> bool:
    """Return whether the new operands can be lifted and stretched to the present operands without a change of bits."""
    old = {operand.index: operand for operand in before.operands}
    try:
        after = align_anyhow(reading(node, read))
    except Incompatible:
        return False
    if after is None or over_limit(node, after) is not None:
        return False
    changed = [(operand, old[operand.index].value) for operand in after.operands if operand.index in read]
    return not any(
        (_is_lifted(operand.value, to) and left_reason(node, after, operand, stretched=False) is not None)
        or (_is_stretched(operand.value, to) and left_reason(node, after, operand, stretched=True) is not None)
        for operand, to in changed
    )


def _is_lifted(value: Value, to: Value) -> bool:
    """Return whether a lift is needed to make `to` from a value; true if a rank is unknown."""
    return not (value.shape.ranked and to.shape.ranked) or value.shape.rank < to.shape.rank


def _is_stretched(value: Value, to: Value) -> bool:
    """Return whether a stretch is needed to make `to` from a value; true if a rank is unknown."""
    if not (value.shape.ranked and to.shape.ranked):
        return True
    rank = max(value.shape.rank, to.shape.rank)
    return not same_shape(with_rank(value.shape, rank), with_rank(to.shape, rank))


def with_rank(shape: Shape, rank: int) -> Shape:
    """Return the shape with unit axes in front, so that it has at least this rank."""
    return Shape((1,) * (rank - shape.rank) + shape.dims)


def may_lift(node: Node, before: Alignment, at: int) -> bool:
    """Return whether the rewrite equalize-ranks would lift operand `at`, which has fewer axes than the result."""
    operand = next(operand for operand in before.operands if operand.index == at)
    return left_reason(node, before, operand, stretched=False) is None


def is_alone(value: Value) -> bool:
    """Return whether exactly one operand of one live node reads a value, which is not an output of its graph."""
    return value not in value.graph.outputs and sum(is_live(reader) for reader, _ in value.reads) == 1


def is_at_hand(value: Value) -> bool:
    """Return whether a value is a constant, or dequantized from one, that can be written in another shape."""
    stored_constant = constant(value)
    return (
        stored_constant is not None
        and stored_constant.repeats is not None
        and (stored_constant is value or is_alone(value))
    )

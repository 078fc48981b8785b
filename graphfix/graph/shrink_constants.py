"""Find, for the constants of a broadcasting node, the smallest shapes that keep its result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from graphfix.graph.broadcast import MATRIX, Alignment
from graphfix.graph.edits import Restate
from graphfix.graph.operand_replacement import Operands, is_alone, keeps_bits, keeps_result
from graphfix.graph.redundant_nodes import bare, constant
from graphfix.graph.view import Node, Value
from graphfix.shapes.dim import Shape, Size, Undecided
from graphfix.shapes.shape import same_shape


def restated(node: Node, before: Alignment, freed: Operands) -> Iterator[Restate]:
    """Yield an edit for each constant that can have fewer elements or axes.

    `before` is the present alignment of the operands, and `freed` are the values that replace some of them. Constants
    are made smaller in the order of the operands. So if only constants have the rank of the result, the last one keeps
    it.
    """
    read = dict(freed)
    with suppress(Undecided):
        for value in dict.fromkeys(operand.value for operand in before.operands if operand.index not in freed):
            places = [operand.index for operand in before.operands if operand.value is value]
            smallest = _smallest(node, before, value, places, read)
            if smallest is not None:
                read |= dict.fromkeys(places, smallest)
                yield from (Restate(at, smallest.shape) for at in places)


def _smallest(node: Node, before: Alignment, value: Value, places: Sequence[int], read: Operands) -> Value | None:
    """Return a constant in the smallest shape that keeps the result; None if its shape can't be made smaller.

    A constant that is dequantized for several readers is not changed, because it would be dequantized twice.
    """
    if node.row is not None and node.row.style == "matmul" and value.shape.ranked and value.shape.rank <= MATRIX:
        return None  # The constant is one matrix, so its elements, which may be many, need not be read.
    stored_constant = constant(value)
    repeats = stored_constant.repeats if stored_constant is not None else None
    if repeats is None or not value.shape.ranked or (stored_constant is not value and not is_alone(value)):
        return None
    if not before.rank and not _has_rank_beside(before, places, value.shape.rank):
        return None
    for shape in _smaller(value.shape, repeats.least, before.rank):
        now = dict.fromkeys(places, replace(value, shape=shape))
        if keeps_result(node, before, {**read, **now}) and keeps_bits(node, before, now):
            return None if same_shape(shape, value.shape) else now[places[0]]
    return None


def _smaller(shape: Shape, least: Shape, rank: int) -> Iterator[Shape]:
    """Yield possible shapes of a constant, the smallest first: fewest elements, then fewest axes."""
    for dims in dict.fromkeys((least.dims, *_partly(shape, least), shape.dims)):
        axes = bare(Shape(dims))
        for more in range(max(rank, len(dims)) - len(axes) + 1):
            yield Shape((1,) * more + axes)


def _partly(shape: Shape, least: Shape) -> Iterator[tuple[Size, ...]]:
    """Yield the shape with all repeating axes but one cut to size 1, then with only one of them cut."""
    axes = [axis for axis, (have, want) in enumerate(zip(shape.dims, least.dims, strict=True)) if have != want]
    for axis in axes if len(axes) > 1 else ():
        yield tuple(shape.dims[at] if at == axis else size for at, size in enumerate(least.dims))
    for axis in axes if len(axes) > 1 else ():
        yield tuple(least.dims[at] if at == axis else size for at, size in enumerate(shape.dims))


def _has_rank_beside(before: Alignment, places: Sequence[int], rank: int) -> bool:
    """Return whether an operand outside of `places` has at least `rank` axes.

    This is needed if the rank of the result is unknown.
    """
    others = (operand.value.shape for operand in before.operands if operand.index not in places)
    return any(shape.ranked and shape.rank >= rank for shape in others)

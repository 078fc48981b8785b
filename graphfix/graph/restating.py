"""The constants that a broadcasting node reads, in the fewest elements and axes that leave its result as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from graphfix.graph.broadcast import Alignment, align_anyhow
from graphfix.graph.edits import Restate
from graphfix.graph.other_operands import Operands, is_alone, keeps_bits, keeps_result
from graphfix.graph.passing import bare, constant
from graphfix.graph.view import Node
from graphfix.shapes.shape import Shape, Size, Undecided, same_shape


def restated(node: Node, freed: Operands) -> Iterator[Restate]:
    """Each constant in the fewest axes and elements that leave the result as it is; the first one carries the rank."""
    try:
        before = align_anyhow(node)
        if before is None:
            return
        read = dict(freed)
        for operand in before.operands:
            at, value = operand.index, operand.value
            held = constant(value) if at not in freed else None
            repeats = held.repeats if held is not None else None
            if repeats is None or not value.shape.ranked or (held is not value and not is_alone(value)):
                continue  # a constant that is dequantized for others too would be dequantized twice
            for shape in _smaller(value.shape, repeats.least, before.rank):
                candidate = {**read, at: replace(value, shape=shape)}
                fits = before.rank or _has_rank_beside(before, at, value.shape.rank)
                if fits and keeps_result(node, before, candidate) and keeps_bits(node, before, {at: candidate[at]}):
                    read = candidate
                    break
            if not same_shape(read.get(at, value).shape, value.shape):
                yield Restate(at, read[at].shape)
    except Undecided:
        return


def _smaller(shape: Shape, least: Shape, rank: int) -> Iterator[Shape]:
    """Shapes of a constant, the smallest first: as few elements as there are different ones, then as few axes."""
    for dims in dict.fromkeys((least.dims, *_partly(shape, least), shape.dims)):
        axes = bare(Shape(dims))
        for more in range(max(rank, len(dims)) - len(axes) + 1):
            yield Shape((1,) * more + axes)


def _partly(shape: Shape, least: Shape) -> Iterator[tuple[Size, ...]]:
    """The shape with all but one of the axes that repeat cut, then with one of them cut."""
    axes = [axis for axis, (have, want) in enumerate(zip(shape.dims, least.dims, strict=True)) if have != want]
    for axis in axes if len(axes) > 1 else ():
        yield tuple(shape.dims[at] if at == axis else size for at, size in enumerate(least.dims))
    for axis in axes if len(axes) > 1 else ():
        yield tuple(least.dims[at] if at == axis else size for at, size in enumerate(shape.dims))


def _has_rank_beside(before: Alignment, at: int, rank: int) -> bool:
    """Whether another operand is known to have so many axes, where the result's rank is not known."""
    others = (operand.value.shape for operand in before.operands if operand.index != at)
    return any(shape.ranked and shape.rank >= rank for shape in others)

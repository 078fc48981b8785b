"""A RotaryEmbedding: pairs of elements turned by an angle that follows from their position."""

from __future__ import annotations

from graphfix.graph.edits import New, Source
from graphfix.graph.view import Node, optional_operand
from graphfix.shapes.dim import Shape
from rewrites.attention.nodes import FLOAT, Sizes, each
from rewrites.recurrence.nodes import concat, reshaped, sliced

COS, SIN, POSITIONS = 1, 2, 3
"""Operands."""
LAST, PAIRED = 3, 4
"""The axis of elements, and the one that a pair has while it is taken apart."""
IN_FRONT = 4
"""Axes of data whose heads stand in front of the positions."""


def rotary(node: Node, heads: int, turned: int, *, interleaved: bool) -> New:
    """Turn the first `turned` elements (0: all) of each head; heads in front of the positions, or `heads` in a row."""
    sizes = node.operand(0).ranked.numbers
    lead: Sizes
    beside: Sizes
    if len(sizes) == IN_FRONT:
        lead, beside, size = sizes[:LAST], (sizes[0], 1, sizes[2]), sizes[LAST]
    else:
        lead, beside, size = (*sizes[:2], heads), (*sizes[:2], 1), sizes[2] // heads
    data: Source = 0 if len(sizes) == IN_FRONT else reshaped(0, (*lead, size))
    turned = turned or size
    half = (*lead, turned // 2)
    first = data if turned == size else sliced(data, LAST, 0, turned, (*lead, turned))
    x, y = _apart(first, half, interleaved=interleaved)
    cos, sin = (_angle(node, at, (*beside, turned // 2)) for at in (COS, SIN))
    real = each("Sub", half, each("Mul", half, cos, x), each("Mul", half, sin, y))
    imaginary = each("Add", half, each("Mul", half, sin, x), each("Mul", half, cos, y))
    made = _together(real, imaginary, half, interleaved=interleaved)
    if turned < size:
        made = concat([made, sliced(data, LAST, turned, size, (*lead, size - turned))], LAST)
    return made if len(sizes) == IN_FRONT else reshaped(made, sizes)


def _angle(node: Node, at: int, sizes: Sizes) -> New:
    """The cosines or sines, which every head shares: from a table by position, or given for each."""
    if optional_operand(node, POSITIONS) is None:
        return reshaped(at, sizes)
    chosen = Shape((*node.operand(POSITIONS).ranked.numbers, sizes[-1]))
    return reshaped(New("Gather", (at, POSITIONS), chosen, FLOAT, (("axis", 0),)), sizes)


def _apart(data: Source, half: Sizes, *, interleaved: bool) -> tuple[New, New]:
    if not interleaved:
        x, y = (sliced(data, LAST, at * half[LAST], (at + 1) * half[LAST], half) for at in (0, 1))
        return x, y
    pairs = reshaped(data, (*half, 2))
    x, y = (reshaped(sliced(pairs, PAIRED, at, at + 1, (*half, 1)), half) for at in (0, 1))
    return x, y


def _together(x: New, y: New, half: Sizes, *, interleaved: bool) -> New:
    if not interleaved:
        return concat([x, y], LAST)
    return reshaped(concat([reshaped(part, (*half, 1)) for part in (x, y)], PAIRED), (*half[:LAST], 2 * half[LAST]))

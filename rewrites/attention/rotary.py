"""New nodes for a RotaryEmbedding, which rotates pairs of elements by an angle that depends on their position."""

from __future__ import annotations

from graphfix.graph.edits import New, Source
from graphfix.graph.view import Node, optional_operand
from graphfix.shapes.dim import Shape
from rewrites.attention.nodes import FLOAT, Sizes, each
from rewrites.recurrence.nodes import concat, reshaped, sliced

COS, SIN, POSITIONS = 1, 2, 3
"""The indices of the operands with the cosines, the sines and the positions."""
LAST, PAIRED = 3, 4
"""The axis of a head's elements, and the axis within a pair while pairs are split."""
IN_FRONT = 4
"""The number of axes of data whose heads have an axis before the positions."""


def rotary(node: Node, heads: int, turned: int, *, interleaved: bool) -> New:
    """Return the last new node of the embedding.

    The first `turned` elements of each head are rotated (0: all elements).

    Data of four axes are [batch,heads,positions,size]. Data of three axes are [batch,positions,heads*size], with the
    number of heads in `heads`. If `interleaved`, a pair is two neighbouring elements; otherwise its parts are in the
    two halves.
    """
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
    """Return the cosines or sines (operand `at`) in a shape that every head shares.

    With the operand position_ids, they are gathered from a table by position. Without it, they are given for each
    position.
    """
    if optional_operand(node, POSITIONS) is None:
        return reshaped(at, sizes)
    chosen = Shape((*node.operand(POSITIONS).ranked.numbers, sizes[-1]))
    return reshaped(New("Gather", (at, POSITIONS), chosen, FLOAT, (("axis", 0),)), sizes)


def _apart(data: Source, half: Sizes, *, interleaved: bool) -> tuple[New, New]:
    """Return the first and the second elements of all pairs, each with the sizes `half`."""
    if not interleaved:
        x, y = (sliced(data, LAST, at * half[LAST], (at + 1) * half[LAST], half) for at in (0, 1))
        return x, y
    pairs = reshaped(data, (*half, 2))
    x, y = (reshaped(sliced(pairs, PAIRED, at, at + 1, (*half, 1)), half) for at in (0, 1))
    return x, y


def _together(x: New, y: New, half: Sizes, *, interleaved: bool) -> New:
    """Return the data whose pairs consist of the elements of `x` and `y`; the inverse of `_apart`."""
    if not interleaved:
        return concat([x, y], LAST)
    return reshaped(concat([reshaped(part, (*half, 1)) for part in (x, y)], PAIRED), (*half[:LAST], 2 * half[LAST]))

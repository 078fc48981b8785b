"""Write a FLOOR_DIV or FLOOR_MOD of int32 as a truncating division with a correction (TFLite only).

    FLOOR_DIV(a:int32[2,3], b)  ->  q = DIV(a, b);  r = a - q * b;  SELECT_V2(w, q - 1, q)
    FLOOR_MOD(a:int32[2,3], b)  ->                                  SELECT_V2(w, r + b, r)
                                    w = SELECT_V2(b < 0, r > 0, r < 0)

The converter to TOSA tests the sign of a * b, which may exceed 32 bits: its result of -2147483647 / -7 is too small by
one. It also needs the first operand in its full shape. For FLOOR_MOD it writes an invalid module. Every bit is the same
after this rewrite, and LiteRT refuses a divisor of 0 in both forms. If the divisor is a constant whose elements have
one sign, SELECT_V2 is not needed for `w`.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, Lift, New, Numbers, Replace, Source, scalar
from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE
from graphfix.shapes.dim import Shape
from graphfix.shapes.shape import broadcast, with_axes

ON = frozenset({(TFLITE, "FLOOR_DIV"), (TFLITE, "FLOOR_MOD")})
CODE = "GF304"
TYPE, BOOL = "int32", "bool"


def plan(node: Node) -> Iterator[Edit]:
    """Yield lifts of both operands to one rank, and the replacement of the division."""
    if node.results[0] is None or node.operand(0).dtype != TYPE:
        return
    shapes = [node.operand(index).ranked for index in (0, 1)]
    result_shape = broadcast(*shapes)
    for index, shape in enumerate(shapes):
        if shape.rank < result_shape.rank:
            yield Lift(index, tuple(range(result_shape.rank - shape.rank)), CODE)
    quotient = New("DIV", (0, 1), result_shape, TYPE)
    rest = New("SUB", (0, New("MUL", (quotient, 1), result_shape, TYPE)), result_shape, TYPE)
    wrong = _wrong(node.operand(1), rest, result_shape)
    if node.op == "FLOOR_DIV":
        less = New("SUB", (quotient, scalar(1, result_shape, TYPE)), result_shape, TYPE)
        yield Replace(New("SELECT_V2", (wrong, less, quotient), result_shape, TYPE), CODE)
    else:
        more = New("ADD", (rest, 1), result_shape, TYPE)
        yield Replace(New("SELECT_V2", (wrong, more, rest), result_shape, TYPE), CODE)


def _wrong(divisor: Value, rest: New, result_shape: Shape) -> New:
    """Return a new boolean node: True where the remainder is not 0 and its sign differs from the divisor's."""
    zero = scalar(0, result_shape, TYPE)
    below, above = New("LESS", (rest, zero), result_shape, BOOL), New("GREATER", (rest, zero), result_shape, BOOL)
    shape = with_axes(divisor.ranked, range(result_shape.rank - divisor.ranked.rank))
    signs = None if divisor.elements is None else tuple(int(number) < 0 for number in divisor.elements)
    if signs is not None and len(set(signs)) == 1:
        return above if signs[0] else below
    negative: Source = New("LESS", (1, zero), shape, BOOL) if signs is None else Numbers(signs, shape.numbers, BOOL)
    return New("SELECT_V2", (negative, above, below), result_shape, BOOL)

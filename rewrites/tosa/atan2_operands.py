"""Stretch the operands of an ATAN2 to one shape, because ATAN2 does not broadcast (TFLite only).

    ATAN2(y[2,3], x[1,3])  ->  ATAN2(y, x[2,3])

LiteRT compares the ranks only. If a size differs, it reads beyond the end of the smaller operand, so the result of the
original model is undefined. The rewrite applies numpy's rule explicitly, so no other tool has to guess.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, Lift, Stretch
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE
from graphfix.shapes.shape import broadcast, same_shape, with_axes

ON = frozenset({(TFLITE, "ATAN2")})
CODE = "GF304"


def plan(node: Node) -> Iterator[Edit]:
    """Yield lifts and stretches of each operand to the broadcast of both shapes."""
    shapes = [node.operand(index).ranked for index in (0, 1)]
    result_shape = broadcast(*shapes)
    for index, shape in enumerate(shapes):
        missing = result_shape.rank - shape.rank
        if missing:
            yield Lift(index, tuple(range(missing)), CODE)
        if not same_shape(with_axes(shape, range(missing)), result_shape):
            yield Stretch(index, (1 - index,), result_shape, CODE)

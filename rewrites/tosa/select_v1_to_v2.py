"""Write SELECT as SELECT_V2, whose condition follows numpy's rule (TFLite only).

    SELECT(c[2], x[2,3,4], y[2,3,4])  ->  SELECT_V2(c[2,1,1], x, y)
    SELECT(c[], x[2,3], y[2,3])       ->  SELECT_V2(c[1,1], x, y)

A condition of rank 1 follows the first axis of the other operands, so it needs unit axes on its right. With unit axes
on its left, as for all other operators, it would select along the last axis. TOSA's importers support SELECT_V2 and
refuse SELECT.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, Lift, New, Replace
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE

ON = frozenset({(TFLITE, "SELECT")})
CODE = "GF304"


def plan(node: Node) -> Iterator[Edit]:
    """Yield a lift of the condition by trailing axes (a scalar by all axes), and the replacement of the operator."""
    condition, chosen, result = node.operand(0).ranked, node.operand(1).ranked, node.results[0]
    if result is None:
        return
    missing = chosen.rank - condition.rank
    if missing > 0:
        yield Lift(0, tuple(range(condition.rank, chosen.rank)), CODE)
    yield Replace(New("SELECT_V2", (0, 1, 2), result.shape, result.dtype), CODE)

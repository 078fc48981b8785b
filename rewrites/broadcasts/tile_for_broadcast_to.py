"""Write a BROADCAST_TO that the model already has as a TILE (TFLite only).

    BROADCAST_TO(x[1,1,4], [2,3,4])    ->  TILE(x[1,1,4], [2,3,1])
    BROADCAST_TO(x[4], [2,3,4])        ->  TILE(x[1,1,4], [2,3,1])

For targets whose tools read TILE and refuse BROADCAST_TO. A TILE says how often an axis is repeated, so that all sizes
must be numbers; a BROADCAST_TO whose sizes are free is left, as a finding (GF304).
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Canonicalize, Edit, Lift
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE
from graphfix.shapes.dim import Undecided

ON = frozenset({(TFLITE, "BROADCAST_TO")})
CODE = "GF304"


def plan(node: Node) -> Iterator[Edit]:
    """Lift the operand to the rank of the result, and repeat it by numbers."""
    result = node.results[0] if node.results else None
    if result is None:
        return
    value, to = node.operand(0), result.ranked
    if not (value.ranked.static and to.static):
        raise Undecided(f"a TILE repeats by numbers, and {value} or {to} has a free size: bind it (--dim, --shape)")
    missing = to.rank - value.shape.rank
    if missing:
        yield Lift(0, tuple(range(missing)), CODE)
    yield Canonicalize(to, CODE)

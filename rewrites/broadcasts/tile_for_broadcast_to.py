"""Write an existing BROADCAST_TO as a TILE (TFLite only).

    BROADCAST_TO(x[1,1,4], [2,3,4])    ->  TILE(x[1,1,4], [2,3,1])
    BROADCAST_TO(x[4], [2,3,4])        ->  TILE(x[1,1,4], [2,3,1])

For targets whose tools support TILE and refuse BROADCAST_TO. A TILE contains the number of repetitions of each axis, so
all sizes must be numbers. A BROADCAST_TO with free sizes is left as a finding (GF304).
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
    """Yield a lift of the operand to the rank of the result, and a TILE. Raises Undecided if a size is free."""
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

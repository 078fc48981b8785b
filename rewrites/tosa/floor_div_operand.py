"""Write the first operand of an integer FLOOR_DIV in full (TFLite only).

    FLOOR_DIV(a:int32[4], b:int32[2,3,4])  ->  FLOOR_DIV(a[2,3,4], b)

The converter to TOSA builds a comparison of the quotient with the first operand as it stands: one that is broadcast
gives "cannot reshape 4 elements into 24". The second operand may be broadcast, and so may both of a float FLOOR_DIV.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.broadcast import align
from graphfix.graph.edits import Edit, Lift, Stretch
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE
from rewrites.broadcasts import equalize_ranks, materialize_broadcasts

ON = frozenset({(TFLITE, "FLOOR_DIV")})
CODE = "GF304"
FIRST = 0


def plan(node: Node) -> Iterator[Edit]:
    """Lift and stretch operand 0 of an integer division."""
    if align(node) is None or not node.operand(FIRST).dtype.startswith(("int", "uint")):
        return
    for rule in (equalize_ranks, materialize_broadcasts):
        for edit in rule.plan(node):
            if isinstance(edit, (Lift, Stretch)) and edit.operand == FIRST:
                yield edit

"""Stretch all batch axes of a BATCH_MATMUL, or leave them unchanged, but nothing in between (TFLite only).

    BATCH_MATMUL(a[2,3,4], b[1,4,5])      ->  BATCH_MATMUL(a, b[2,4,5])
    BATCH_MATMUL(a[6,1,3,4], b[2,4,5])    ->  BATCH_MATMUL(a[6,2,3,4], b[6,2,4,5])
    BATCH_MATMUL(a[2,3,4], b[4,5])            stays

The converter to TOSA reads an operand of a lower rank correctly if only that operand is broadcast. An operand that is
only lifted, with batch axes of size 1, leads to a module that does not validate. So the operator is left unchanged in
that one form. In all other forms its batch axes are stretched. This rewrite replaces `equalize-ranks` for the operator.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.broadcast import Alignment, BroadcastOperand, align
from graphfix.graph.edits import Edit, Leave
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE
from rewrites.broadcasts import equalize_ranks, materialize_broadcasts

ON = frozenset({(TFLITE, "BATCH_MATMUL")})
CODE = "GF304"
INSTEAD_OF = ("equalize-ranks",)
READ = "a converter to TOSA reads it as it is: one operand of a lower rank, and no other batch axis of size 1"


def plan(node: Node) -> Iterator[Edit]:
    """Yield lifts and stretches, unless the only implicit broadcast is one operand of a lower rank."""
    alignment = align(node)
    if alignment is None:
        return
    needing = [operand for operand in alignment.operands if alignment.is_implicit(operand)]
    if len(needing) == 1 and _is_read(alignment, needing[0]):
        yield Leave(needing[0].index, READ, "GF101")
    elif needing:
        yield from equalize_ranks.plan(node)
        yield from materialize_broadcasts.plan(node)


def _is_read(alignment: Alignment, operand: BroadcastOperand) -> bool:
    """Return whether the operand has a lower rank, and its existing batch axes are not stretched."""
    own = operand.shape.rank
    stretched = alignment.stretches(operand)
    return operand.value.shape.rank < alignment.rank and all(axis == "no" for axis in stretched[len(stretched) - own :])

"""Stretch the batch axes of a BATCH_MATMUL, or leave them as they are: nothing between (TFLite only).

    BATCH_MATMUL(a[2,3,4], b[1,4,5])      ->  BATCH_MATMUL(a, b[2,4,5])
    BATCH_MATMUL(a[6,1,3,4], b[2,4,5])    ->  BATCH_MATMUL(a[6,2,3,4], b[6,2,4,5])
    BATCH_MATMUL(a[2,3,4], b[4,5])            stays

TOSA's converter reads an operand of a lower rank where it alone is broadcast; one that is lifted only, with ones as
batch axes, gives a module that does not validate. So the operator is left alone in that one form, and has its batch
axes written out in full in every other; `equalize-ranks` leaves it to this rewrite.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.broadcast import Alignment, Party, align
from graphfix.graph.edits import DEFAULT, Edit, Leave, Options
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE
from rewrites import equalize_ranks, materialize_broadcasts

OPERATORS = frozenset({(TFLITE, "BATCH_MATMUL")})
IN_FULL = Options(broadcasts="explicit")
READ = "a converter to TOSA reads it as it is: one operand of a lower rank, and no other batch axis of size 1"


def plan(node: Node, options: Options = DEFAULT) -> Iterator[Edit]:  # noqa: ARG001 -- every plan takes the options
    """Lift and stretch whatever needs it, unless one operand of a lower rank is all that does."""
    alignment = align(node)
    if alignment is None:
        return
    needing = [party for party in alignment.parties if _needs(alignment, party)]
    if len(needing) == 1 and _is_read(alignment, needing[0]):
        yield Leave(needing[0].index, READ, "GF101")
    elif needing:
        yield from equalize_ranks.plan(node, IN_FULL)
        yield from materialize_broadcasts.plan(node, IN_FULL)


def _needs(alignment: Alignment, party: Party) -> bool:
    return party.value.shape.rank < alignment.rank or any(axis != "no" for axis in alignment.stretches(party))


def _is_read(alignment: Alignment, party: Party) -> bool:
    """A lower rank, whose own batch axes are those of the result."""
    own = party.shape.rank
    stretched = alignment.stretches(party)
    return party.value.shape.rank < alignment.rank and all(axis == "no" for axis in stretched[len(stretched) - own :])

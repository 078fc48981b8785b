"""Lift the operands of a broadcasting operator to one rank, by leading axes of size 1.

    Add(x[2,3,4,5], b[4,5])          ->  Add(x, b[1,1,4,5])
    ADD(x[2,3,4,5], b[4,5])          ->  ADD(x, b[1,1,4,5])              TFLite: the same
    BATCH_MATMUL(a[8,2,3], b[3,4])   ->  BATCH_MATMUL(a, b[1,3,4])

Every operand that takes part in the broadcast gets leading unit axes until it has the rank of the result. A computed
operand gets them by a node that only changes the shape; a constant is stored with the new shape. Right-aligned
operators align trailing axes, so leading unit axes change no element: each axis follows the same axis of the result as
before. In a matrix product only the batch axes take part. A Gemm's C gets the rank of its matrix.

These operands are not changed, and the report contains the reason:

- rank-1 operands of a matrix product, because they are promoted, not broadcast
- a constant matrix weight: onnxruntime packs it in advance, and with another rank another kernel computes other last
  bits
- the scale and bias of a normalization
- a Pow exponent of one element under axes of size 1
- PRELU's alpha
- the condition of TFLite's SELECT, which is a scalar or follows axis 0
- the operands of TFLite's POW if both may have one element
- an operand for which another of LiteRT's kernels would return other bits or another rank
- an operand whose rank is not known

`--keep-fusions` also leaves operands unchanged if onnxruntime fuses operators depending on their rank. The report
contains the name of the fusion.

A result of more axes than the runtime can broadcast is a finding (GF301). Some operators look like broadcasting ones
but need equal shapes, such as ATAN2 and StableHLO's operators. Operands of different shapes are a finding there
(GF105).
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.broadcast import Alignment, BroadcastOperand, align, has_ranks, over_limit
from graphfix.graph.edits import Edit, Leave, Lift
from graphfix.graph.operand_replacement import left_reason
from graphfix.graph.protocols import BROADCASTING
from graphfix.graph.view import Node
from graphfix.operators.row import Row
from graphfix.shapes.shape import cstr_eq, same_shape

ON = BROADCASTING
CODE = "GF101"
SEES = "operands"


def plan(node: Node) -> Iterator[Edit]:
    """Yield a lift for every operand that has fewer axes than the result."""
    if not has_ranks(node):
        return  # The run-time form of materialize-broadcasts aligns ranks and sizes at once.
    if node.row is not None:
        yield from _no_broadcast(node, node.row)
    alignment = align(node)
    if alignment is None:
        return
    limit = over_limit(node, alignment)
    for operand in alignment.operands:
        if operand.value.shape.rank < alignment.rank:
            yield _lifted(node, alignment, operand, limit)


def _lifted(node: Node, alignment: Alignment, operand: BroadcastOperand, limit: str | None) -> Edit:
    """Return the lift of an operand, or the reason why the operand is not lifted."""
    reason = left_reason(node, alignment, operand, stretched=False)
    if reason is not None:
        return Leave(operand.index, reason, CODE)
    if limit is not None:
        return Leave(operand.index, limit, "GF301", "left")
    return Lift(operand.index, tuple(range(alignment.rank - operand.value.shape.rank)))


def _no_broadcast(node: Node, row: Row) -> Iterator[Leave]:
    """Yield the operands that are not changed because the operator has its own rule, or needs equal shapes."""
    if row.unequal is not None:
        yield from _unequal(node, row, row.unequal)
    elif row.left is not None and row.onto is not None:
        for operand in row.taking_part(len(node.operands)):
            if not same_shape(node.operand(operand.index).shape, node.operand(row.onto).shape):
                yield Leave(operand.index, row.left.reason, CODE)
    elif row.left is not None:
        operands = row.taking_part(len(node.operands))
        if any(node.operands[operand.index] is not None for operand in operands):
            yield Leave(None, row.left.reason, CODE)


def _unequal(node: Node, row: Row, reason: str) -> Iterator[Leave]:
    """Yield the operands whose shapes certainly differ from the first operand's."""
    first, *others = [(operand.index, node.operand(operand.index)) for operand in row.taking_part(len(node.operands))]
    for index, value in others:
        if first[1].stale is None and value.stale is None and cstr_eq(first[1].shape, value.shape) is False:
            yield Leave(index, f"{first[1].shape} and {value.shape} differ: {reason}", "GF105", "left")

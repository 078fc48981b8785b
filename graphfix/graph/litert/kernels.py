"""Find operands that must not be lifted or stretched, because LiteRT would choose another kernel afterwards.

`graph.operand_replacement` calls `other_kernel` for the nodes of TFLite models. Measured with LiteRT 2.3 on its three
kernel sets: tests/whole/test_kernel_choice.py.
"""

from __future__ import annotations

from graphfix.graph.broadcast import Alignment, BroadcastOperand
from graphfix.graph.litert.buffers import overwritten
from graphfix.graph.litert.lookup_tables import FLOATS, SELECTING, chain_of, decides, is_unit_constant, outranks
from graphfix.graph.view import Node
from graphfix.shapes.dim import never_one, same

SELECTED = (
    "XNNPACK returns another operand of {op} where one is NaN or both are zero, once this operand is stretched along "
    "the innermost axis"
)
SELECTED_BESIDE = (
    "XNNPACK returns another operand of {op} where one is NaN or both are zero, once this operand has as many axes as "
    "the constant of one element"
)
RANK = (
    "XNNPACK drops the rank of a constant of one element here, so lifting or stretching an operand changes the "
    "result's rank"
)
TABLE = (
    "XNNPACK computes the nodes around this one by one lookup table, whose result would be another without this node"
)


def other_kernel(node: Node, alignment: Alignment, operand: BroadcastOperand, *, stretched: bool) -> str | None:
    """Return why a lifted or stretched operand might change bits of the result, or None if the edit keeps every bit.

    `stretched` is True for a stretch and False for a lift.
    """
    if outranks(node) and not _has_rank(node):
        return RANK
    if (stretched or not is_unit_constant(operand.value)) and decides(chain_of(node)):
        return TABLE
    if not stretched and (lost := overwritten(node, alignment, operand)) is not None:
        return lost
    return _other_operand(node, alignment, operand, stretched=stretched)


def _has_rank(node: Node) -> bool:
    """Return whether the ranks of a node's results are known; an unknown rank may differ between kernel sets."""
    return all(value is None or value.shape.ranked for value in node.results)


def _other_operand(node: Node, alignment: Alignment, operand: BroadcastOperand, *, stretched: bool) -> str | None:
    """Return why MAXIMUM or MINIMUM would return another operand for NaNs and zeros after the edit, or None."""
    if node.op not in SELECTING or operand.value.dtype not in FLOATS:
        return None
    if stretched:
        return SELECTED.format(op=node.op) if _reaches_innermost(alignment, operand) else None
    return SELECTED_BESIDE.format(op=node.op) if _outranked(alignment, operand) else None


def _reaches_innermost(alignment: Alignment, operand: BroadcastOperand) -> bool:
    """Return whether a stretch may repeat the operand along the innermost axis of the result that is not 1."""
    if not alignment.result.ranked:
        return True
    for size, certainty in zip(reversed(alignment.result.dims), reversed(alignment.stretches(operand)), strict=True):
        if certainty != "no":
            return True
        if never_one(size) and not same(size, 1):
            return False
    return False


def _outranked(alignment: Alignment, operand: BroadcastOperand) -> bool:
    """Return whether a constant of one element has more axes than the operand."""
    return any(
        is_unit_constant(other.value) and other.value.shape.rank > operand.value.shape.rank
        for other in alignment.operands
        if other.index != operand.index
    )

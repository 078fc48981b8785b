"""Give the operands of a broadcasting operator one rank.

    Add(x[2,3,4,5], b[4,5])  ->  Add(x, b[1,1,4,5])

Every operand that takes part in the broadcast gets leading unit axes until it has the rank of the result, by a node
that only re-dimensions; a constant is re-dimensioned itself. Right-aligned operators align trailing axes, so leading
unit axes change no element: each axis follows the result axis that it followed before. In a matrix product only the
batch axes take part; a Gemm's C gets the rank of its matrix.

Left as they are, with the reason: rank-1 operands of a matrix product (they are promoted, not broadcast), a constant
matrix weight (onnxruntime prepacks it: another kernel, other last bits), the scale and bias of a normalization, and an
operand whose rank is not known. `--keep-fusions` also leaves scalar and rank-1 constants: onnxruntime fuses operators
by their shapes.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.alignment import Party, align, exemption, meeting
from graphfix.edits import DEFAULT, Edit, Leave, Lift, Options
from graphfix.graph import Node

FUSED = "a runtime fuses the operator by this constant's shape (--keep-fusions)"


def plan(node: Node, options: Options = DEFAULT) -> Iterator[Edit]:
    """Lift every operand that has fewer axes than the result."""
    if any(not value.shape.ranked for value in meeting(node)) and options.stretches_unknown:
        return  # the run-time form aligns ranks and sizes at once
    if node.row is not None and node.row.left is not None and (node.row.operands or node.row.variadic):
        yield Leave(None, node.row.left.reason, "GF101")
    alignment = align(node)
    if alignment is None:
        return
    for party in alignment.parties:
        missing = alignment.rank - party.value.shape.rank
        if missing <= 0:
            continue
        reason = exemption(party, party.operand.keep_rank) or _fused(party, options)
        if reason is not None:
            yield Leave(party.index, reason, "GF101")
        else:
            yield Lift(party.index, tuple(range(missing)))


def _fused(party: Party, options: Options) -> str | None:
    return FUSED if options.keep_fusions and party.value.kind == "constant" and party.value.shape.rank <= 1 else None

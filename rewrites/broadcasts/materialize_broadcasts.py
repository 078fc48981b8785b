"""Stretch axes of size 1 by explicit nodes, so that no operator repeats an operand implicitly.

    Add(x[2,3,4], b[1,1,4])      ->  Add(x, Expand(b, [2,3,4]))
    Mul(a[N,1], c[N,T])          ->  Mul(Expand(a, Shape(c)), c)
    Add(a[N], c[M])              ->  Add(Expand(a, Shape(c)), Expand(c, Shape(a)))
    ADD(x[2,3,4], b[1,1,4])      ->  ADD(x, TILE(b, [2,3,1]))            TFLite
    BATCH_MATMUL(a[8,2,3], b[1,3,4])  ->  BATCH_MATMUL(a, TILE(b, [8,1,1]))

The third line is the run-time form: a size that is not known may be 1 when the model runs. Each operand is expanded to
the run-time shape of the other operands. The expansion does nothing if the sizes are equal, and follows numpy's rule
for all sizes, including 0. Sizes that do not broadcast still fail when the model runs. An operand that is provably
never stretched is not changed.

`--broadcasts keep` stretches nothing, so only `equalize-ranks` changes operands. `two-sided` stretches an operand only
if more than one operand of the node would be repeated. It then stretches the operand that costs the fewest bytes (the
first one if several cost the same), or all of them if sizes are not known. `explicit` stretches every operand.

`--unknown` decides what happens if a size is not known:

- `expand`: the run-time form
- `keep`: the operand is not changed, and is reported
- `assume`: unknown sizes are assumed to be equal, and not 1 beside another size. The report and the model's metadata
  contain the assumption.
- `error`: the command fails

These operands are not changed, and the report contains the reason:

- an exponent that may have one element
- the operands of an ONNX matrix product
- the scale and bias of a normalization
- PRELU's alpha in TFLite
- an operand of TFLite's MAXIMUM or MINIMUM of floats along the innermost axis
- an operand of one of TFLite's activated 8-bit operators if only a constant of one element has the result's rank
- with `--keep-fusions`, an operand whose sizes a fusion of onnxruntime compares

A result of more axes than the runtime can broadcast is a finding (GF301). So is an operand of lower rank than the
result that `equalize-ranks` did not lift, for example with `--skip equalize-ranks`.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.broadcast import (
    Alignment,
    BroadcastOperand,
    align,
    align_at_run_time,
    has_ranks,
    over_limit,
)
from graphfix.graph.edits import Edit, Leave, Stretch
from graphfix.graph.operand_replacement import left_reason
from graphfix.graph.protocols import BROADCASTING
from graphfix.graph.view import Node
from graphfix.shapes.axis import Certainty

ON = BROADCASTING
CODE = "GF103"
SEES = "operands"


def plan(node: Node) -> Iterator[Edit]:
    """Yield a stretch for every operand that is, or may be, repeated."""
    alignment = align(node) if has_ranks(node) else align_at_run_time(node)
    if alignment is None:
        return
    limit = over_limit(node, alignment)
    for operand in alignment.operands:
        axes = alignment.stretches(operand)
        if all(axis == "no" for axis in axes):
            continue
        reason = left_reason(node, alignment, operand, stretched=True)
        if reason is not None:
            yield Leave(operand.index, reason, "GF102" if alignment.result.ranked else CODE)
        elif limit is None:
            yield _stretched(alignment, operand, axes)
        elif operand.value.shape.rank == alignment.rank:  # Otherwise equalize-ranks has already reported the operand.
            yield Leave(operand.index, limit, "GF301", "left")


def _stretched(alignment: Alignment, operand: BroadcastOperand, axes: tuple[Certainty, ...]) -> Stretch:
    """Return the stretch of an operand along these axes."""
    by, to = alignment.run_time_shape(operand)
    return Stretch(operand.index, by, to, CODE if "maybe" in axes else "GF102", axes)

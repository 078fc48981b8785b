"""Change PRELU's alpha so that it has one axis less than the input (TFLite only).

    PRELU(x[1,8,8,4], a[4])        ->  PRELU(x, a[1,1,4])
    PRELU(x[1,8,8,4], a[1,1,1,4])  ->  PRELU(x, a[1,1,4])

LiteRT broadcasts an alpha of any rank, but TOSA's importer requires exactly this rank. An alpha whose batch axis is not
1 can't be written in this form, so it is not changed, and is reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, Leave, Lift, New, Replace, Restate, reshape
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE
from graphfix.shapes.dim import Shape, Undecided

ON = frozenset({(TFLITE, "PRELU")})
CODE = "GF304"


def plan(node: Node) -> Iterator[Edit]:
    """Yield a lift of alpha, or edits that remove its leading unit axes."""
    shape, alpha, result = node.operand(0).ranked, node.operand(1), node.results[0]
    missing = shape.rank - 1 - alpha.ranked.rank
    if missing > 0:
        yield Lift(1, tuple(range(missing)), CODE)
    elif missing < 0 < alpha.ranked.rank and result is not None:  # A scalar has no axis that could be removed.
        if not alpha.shape.static:
            raise Undecided(f"the sizes of {alpha} are not all known")
        sizes = alpha.shape.numbers
        if any(size != 1 for size in sizes[:-missing]):
            why = f"alpha {alpha.shape} follows the batch of {shape}, which PRELU in TOSA can't"
            yield Leave(1, why, CODE, "left")
            return
        # A constant must stay a constant, because XNNPACK has another kernel for a computed alpha.
        if alpha.kind == "constant":
            yield Restate(1, Shape(sizes[-missing:]), CODE)
            return
        lower = reshape(node, 1, sizes[-missing:], alpha.dtype)
        yield Replace(New("PRELU", (0, lower), result.shape, result.dtype), CODE)

"""Give PRELU's alpha one axis less than its input has (TFLite only).

    PRELU(x[1,8,8,4], a[4])        ->  PRELU(x, a[1,1,4])
    PRELU(x[1,8,8,4], a[1,1,1,4])  ->  PRELU(x, a[1,1,4])

LiteRT broadcasts an alpha of any rank; TOSA's importer wants just this one. An alpha with a batch axis of its own can't
be said so and is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import DEFAULT, Edit, Leave, Lift, Made, New, Numbers, Options, Replace
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE
from graphfix.shapes.shape import Shape, Undecided

OPERATORS = frozenset({(TFLITE, "PRELU")})


def plan(node: Node, options: Options = DEFAULT) -> Iterator[Edit]:  # noqa: ARG001 -- every plan takes the options
    """Lift alpha, or take its leading unit axis away."""
    shape, alpha, result = node.operand(0).ranked, node.operand(1), node.results[0]
    missing = shape.rank - 1 - alpha.ranked.rank
    if missing > 0:
        yield Lift(1, tuple(range(missing)), "GF304")
    elif missing < 0 and result is not None:
        if not alpha.shape.static:
            raise Undecided(f"the sizes of {alpha} are not all known")
        sizes = tuple(size for size in alpha.shape.dims if isinstance(size, int))
        if any(size != 1 for size in sizes[:-missing]):
            yield Leave(
                1, f"alpha {alpha.shape} follows the batch of {shape}, which PRELU in TOSA can't", "GF304", "left"
            )
            return
        kept = sizes[-missing:]
        target = Numbers(kept, (len(kept),), "int32")
        lower = New("RESHAPE", (1, target), Shape(kept), alpha.dtype, (("new_shape", kept),))
        yield Replace((lower, New("PRELU", (0, Made(0)), result.shape, result.dtype)), "GF304")

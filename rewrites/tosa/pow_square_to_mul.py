"""Write the square of a value as a product (both formats; only with target tosa, or where it is named).

    Pow(x[2,3], 2.0)  ->  Mul(x, x)
    POW(x[2,3], 2.0)  ->  MUL(x, x)

TOSA leaves the power of a negative base open: its reference model gives NaN. onnxruntime gives the same bits for both
forms: it squares by a product itself (measured on random bit patterns of float16, float32, float64, int32, int64). So
do LiteRT's kernels; with XNNPACK a square above the largest float32 is that number for POW and infinite for MUL.
An exponent that is computed, has several elements, or adds axes to the result stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, New, Replace
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE

PRODUCTS = {("", "Pow"): "Mul", (TFLITE, "POW"): "MUL"}
ON = frozenset(PRODUCTS)
CODE = "GF304"
SQUARE = 2


def plan(node: Node) -> Iterator[Edit]:
    """Replace a Pow by 2."""
    base, exponent, result = node.operand(0), node.operand(1), node.results[0]
    if exponent.literal != (SQUARE,) or result is None:
        return
    if base.ranked.rank >= exponent.ranked.rank:
        yield Replace(New(PRODUCTS[node.domain, node.op], (0, 0), result.shape, result.dtype), CODE)

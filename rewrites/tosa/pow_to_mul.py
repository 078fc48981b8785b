"""Write a square, and in ONNX a cube, as products (both formats; only with target tosa, or where it is named).

    Pow(x[2,3], 2.0)  ->  Mul(x, x)
    Pow(x[2,3], 3.0)  ->  Mul(Mul(x, x), x)
    POW(x[2,3], 2.0)  ->  MUL(x, x)

TOSA does not define the power of a negative base: its reference model returns NaN. onnxruntime returns the same bits
for both forms, because it multiplies itself (measured on random bit patterns of float16, float32, float64, int32,
int64).

Some powers are not changed. Cubes of float16 stay, because onnxruntime rounds them only once. Cubes over a last axis of
size 1, or of unknown size, stay, because another routine may compute them. Squares of integers over such an axis stay
too, because that routine overflows differently. An exponent stays if it is computed, has several elements, or adds axes
to the result.

LiteRT's kernels return the same bits for squares, with one exception. If a square is larger than the largest float32,
XNNPACK returns that float32 for POW and infinity for MUL.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, New, Replace
from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE

PRODUCTS = {("", "Pow"): "Mul", (TFLITE, "POW"): "MUL"}
ON = frozenset(PRODUCTS)
CODE = "GF304"
SQUARE, CUBE = 2, 3
WHOLE = frozenset({"int32", "int64"})
CUBED = WHOLE | {"float32", "float64"}
"""The element types whose cubes onnxruntime computes by two multiplications, with the same rounding as two Mul."""


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of a Pow by 2 or 3."""
    base, exponent, result = node.operand(0), node.operand(1), node.results[0]
    if exponent.literal not in ((SQUARE,), (CUBE,)) or result is None:
        return
    if base.ranked.rank < exponent.ranked.rank:
        return
    square = New(PRODUCTS[node.domain, node.op], (0, 0), result.shape, result.dtype)
    if exponent.literal == (SQUARE,):
        if node.domain or base.dtype not in WHOLE or _is_looped_over(base):
            yield Replace(square, CODE)
    elif not node.domain and base.dtype in CUBED and _is_looped_over(base):
        yield Replace(New(square.op, (square, 0), result.shape, result.dtype), CODE)


def _is_looped_over(base: Value) -> bool:
    """Return whether onnxruntime reads the exponent once for a row of several elements, and then multiplies."""
    last = base.shape.dims[-1] if base.shape.dims else 1
    return isinstance(last, int) and last > 1

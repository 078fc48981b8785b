"""Write a square, and in ONNX a cube, as products (both formats; only with target tosa, or where it is named).

    Pow(x[2,3], 2.0)  ->  Mul(x, x)
    Pow(x[2,3], 3.0)  ->  Mul(Mul(x, x), x)
    POW(x[2,3], 2.0)  ->  MUL(x, x)

TOSA leaves the power of a negative base open: its reference model gives NaN. onnxruntime gives the same bits for both
forms: it multiplies out itself (measured on random bit patterns of float16, float32, float64, int32, int64). Two cubes
stay: those of float16, which it rounds once, and those over a last axis of size 1, which another routine raises. There
squares of whole numbers stay too, since it makes other numbers of those that overflow. LiteRT's kernels give the same
bits for squares; with XNNPACK one above the largest float32 is that number for POW and infinite for MUL. An exponent
that is computed, has several elements, or adds axes to the result stays.
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
"""The element types whose cubes onnxruntime multiplies out without a rounding between."""


def plan(node: Node) -> Iterator[Edit]:
    """Replace a Pow by 2, or by 3."""
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
    """Whether onnxruntime looks at the exponent once for a row of several elements, and multiplies out."""
    last = base.shape.dims[-1] if base.shape.dims else 1
    return isinstance(last, int) and last > 1

"""Write a PRelu as a product with a factor that is chosen (ONNX only; only with target tosa, or where it is named).

    PRelu(x[1,3,8,8], slope[3,1,1])  ->  Mul(x, Where(GreaterOrEqual(x, 0), 1, slope))

torch-mlir makes of a PRelu what no TOSA tool reads: constants of float64. Every bit is the same in onnxruntime, zeros,
infinities and NaN included. The factor is chosen, not the product: onnxruntime's Where makes a negative zero of its
second operand a positive one, and a product may be one where it is rounded to zero. The slope is broadcast onto x, as
PRelu does it. Other element types stay: for float64 onnxruntime computes something else, of which not every zero is the
same.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.edits import DEFAULT, Edit, Made, New, Numbers, Options, Replace
from graphfix.graph import Node

OPERATORS = frozenset({("", "PRelu")})
FLOAT = "float32"
OPSET = 12
"""The first one that has GreaterOrEqual; before opset 7 the slope follows axis 1 besides."""


def plan(node: Node, options: Options = DEFAULT) -> Iterator[Edit]:  # noqa: ARG001 -- every plan takes the options
    """Replace a PRelu of float32."""
    value, result = node.operand(0), node.results[0]
    if node.version < OPSET or result is None or value.dtype != FLOAT:
        return
    zero = Numbers((0.0,), (), value.dtype)
    one = Numbers((1.0,), (), value.dtype)
    kept = New("GreaterOrEqual", (0, zero), result.shape, "bool")
    factor = New("Where", (Made(0), one, 1), result.shape, value.dtype)
    yield Replace((kept, factor, New("Mul", (0, Made(1)), result.shape, value.dtype)), "GF304")

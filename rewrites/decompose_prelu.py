"""Write a PRelu as a comparison, a product and a choice (ONNX only; only with target tosa, or where it is named).

    PRelu(x[1,3,8,8], slope[3,1,1])  ->  Where(Greater(x, 0), x, Mul(x, slope))

torch-mlir makes of a PRelu what no TOSA tool reads: constants of float64. onnxruntime computes it in these three steps,
so every bit is the same, negative zeros, infinities and NaN included: 0 is not greater than 0, and so it is multiplied.
The slope is broadcast onto x, as PRelu does it; whole numbers stay.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.edits import DEFAULT, Edit, Made, New, Numbers, Options, Replace
from graphfix.graph import Node

OPERATORS = frozenset({("", "PRelu")})
FLOATS = ("float16", "float32", "float64")
NUMPY_SINCE = 7
"""Before this opset the slope follows axis 1."""


def plan(node: Node, options: Options = DEFAULT) -> Iterator[Edit]:  # noqa: ARG001 -- every plan takes the options
    """Replace a PRelu of floats."""
    value, result = node.operand(0), node.results[0]
    if node.version < NUMPY_SINCE or result is None or value.dtype not in FLOATS:
        return
    zero = Numbers((0.0,), (), value.dtype)
    above = New("Greater", (0, zero), result.shape, "bool")
    scaled = New("Mul", (0, 1), result.shape, value.dtype)
    chosen = New("Where", (Made(0), 0, Made(1)), result.shape, value.dtype)
    yield Replace((above, scaled, chosen), "GF304")

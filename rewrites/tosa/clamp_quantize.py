"""Clamp floats to the range of the int8 type to which they are quantized (TFLite only).

    y:int8 = QUANTIZE(x[2,3])   ->  QUANTIZE(MAXIMUM(low, MINIMUM(high, x)))

`low` and `high` are the numbers that the smallest and the largest int8 represent. LiteRT's kernel saturates at these
numbers, but the converter to TOSA wraps. With a scale of 0.5 and a zero point of 3, a float of 100 becomes -53, not
127. In LiteRT every bit is the same, except for floats that are 2^31 or more steps from 0: for those the reference
kernels return an arbitrary number. The constants are operand 0, because LiteRT's kernels then pass a NaN on, and
QUANTIZE converts it to a number. In TOSA a NaN becomes the zero point. A QUANTIZE to int16 is not changed, because
there the converter saturates.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, New, Replace, scalar
from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE

ON = frozenset({(TFLITE, "QUANTIZE")})
CODE = "GF304"
FLOAT = "float32"
TYPE, ENDS = "int8", (-128, 127)
CUTTING = ("MAXIMUM", "MINIMUM")
"""The operators that clamp a value, from the QUANTIZE upwards. Operand 0 of each is the constant."""


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of a QUANTIZE of floats, with MINIMUM and MAXIMUM before it."""
    data, result = node.operand(0), node.results[0]
    if result is None or data.dtype != FLOAT or result.dtype != TYPE or result.quantization is None:
        return
    scale, zero = result.quantization
    if _cut(data):
        return
    low, high = (scalar((end - zero) * scale, data.ranked, FLOAT) for end in ENDS)
    least = New("MINIMUM", (high, 0), data.ranked, FLOAT)
    cut = New("MAXIMUM", (low, least), data.ranked, FLOAT)
    yield Replace(New("QUANTIZE", (cut,), result.shape, result.dtype, version=node.version), CODE)


def _cut(value: Value) -> bool:
    """Return whether a MAXIMUM and a MINIMUM with constants already clamp the value."""
    for op in CUTTING:
        node = value.producer
        if node is None or node.op != op or node.operand(0).kind != "constant":
            return False
        value = node.operand(1)
    return True

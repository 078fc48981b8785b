"""Cut floats off at the ends of the type that they are quantized to (TFLite only).

    y:int8 = QUANTIZE(x[2,3])   ->  QUANTIZE(MAXIMUM(low, MINIMUM(high, x)))

low and high are the numbers that the least and the greatest int8 stand for. LiteRT's kernel saturates there,
the converter to TOSA wraps: with a scale of 0.5 and a zero point of 3 a float of 100 becomes -53, not 127. In LiteRT
every bit is the same, but for floats 2^31 steps away from 0 and more: of those its reference kernels make any number.
The constants are operand 0: then its kernels pass a NaN on, of which a QUANTIZE makes a number. In TOSA it becomes the
zero point. To int16 the converter saturates.
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
"""What cuts a value off, from the QUANTIZE upwards; operand 0 is the constant."""


def plan(node: Node) -> Iterator[Edit]:
    """Put MINIMUM and MAXIMUM in front of a QUANTIZE of floats."""
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
    """Whether constants cut the value off already."""
    for op in CUTTING:
        node = value.producer
        if node is None or node.op != op or node.operand(0).kind != "constant":
            return False
        value = node.operand(1)
    return True

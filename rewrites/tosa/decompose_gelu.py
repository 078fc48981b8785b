"""Write a GELU of float32 in operators that convert correctly (only with target tosa, or where it is named).

    GELU(x[2,3], approximate=True)   ->  x * 0.5 * (1 + TANH((x + 0.044715 * x*x*x) * 0.7978846))
    GELU(x[2,3], approximate=False)  ->  x * SELECT_V2(x >= 0, 1 - q, q)
                                         q = (b1*t + b2*t^2 + .. + b5*t^5) * EXP(x*x * -0.5),  t = 1 / (1 + ABS(x) * p)

The TFLite converter writes both kinds of GELU with tosa.pow(x, 3), which is NaN for every negative x. torch-mlir does
the same for ONNX's Gelu with tanh, but converts the exact Gelu correctly. The first form is the same in both formats. q
is half of ERFC by formula 7.1.26 of Abramowitz and Stegun, because TFLite has no ERF. Its error is at most 1.5e-7.

The result may differ from the runtime's in the last bits, so the rewrite is inexact. Runs of both models compare the
result of each such operator, which may differ by 1e-4 of its largest magnitude. A quantized GELU is a table, which the
converter writes correctly, so it is not changed.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, New, Replace, Source, scalar
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Shape

ON = frozenset({(TFLITE, "GELU"), ("", "Gelu")})
CODE = "GF304"
FLOAT = "float32"
INEXACT = "it is rounded in other places than in the runtime's kernel: it may differ by 1e-4 of its largest magnitude"
CUBE, SCALE = 0.044715, 0.7978845608028654
"""The constants of the form with TANH. The scale is the root of 2 / pi."""
SLOPE = 0.3275911 * 0.5**0.5
COEFFICIENTS = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
"""The coefficients of formula 7.1.26, beginning with the first power."""


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of a GELU of floats."""
    result = node.results[0]
    if result is None or node.operand(0).dtype != FLOAT:
        return
    approximate = node.attributes.get("approximate")
    if node.domain != TFLITE and approximate != "tanh":
        return
    write = _Write(node.domain == TFLITE, node.operand(0).ranked)
    yield Replace(_by_tanh(write) if approximate else _by_erfc(write), CODE, INEXACT)


@dataclass(frozen=True, slots=True)
class _Write:
    """A function that makes element-wise operators of one format on operands of one shape."""

    tflite: bool
    shape: Shape

    def __call__(self, op: str, *operands: Source | float) -> New:
        """Return a new node of an operator by its name in ONNX. A float among the operands becomes a constant."""
        sources = tuple(scalar(each, self.shape, FLOAT) if isinstance(each, float) else each for each in operands)
        return New(op.upper() if self.tflite else op, sources, self.shape, FLOAT)


def _by_tanh(write: _Write) -> New:
    """Return the form with TANH."""
    cube = write("Mul", write("Mul", 0, 0), 0)
    inner = write("Add", 0, write("Mul", cube, CUBE))
    bent = write("Tanh", write("Mul", inner, SCALE))
    return write("Mul", write("Mul", 0, 0.5), write("Add", bent, 1.0))


def _by_erfc(write: _Write) -> New:
    """Return the form with ERFC by formula 7.1.26, for TFLite."""
    t = write("Div", 1.0, write("Add", write("Mul", write("Abs", 0), SLOPE), 1.0))
    *lower, top = (number / 2 for number in COEFFICIENTS)
    powers: Source = scalar(top, write.shape, FLOAT)
    for number in reversed(lower):
        powers = write("Add", write("Mul", powers, t), number)
    bell = write("Exp", write("Mul", write("Mul", 0, 0), -0.5))
    q = write("Mul", write("Mul", powers, t), bell)
    positive = New("GREATER_EQUAL", (0, scalar(0.0, write.shape, FLOAT)), write.shape, "bool")
    return write("Mul", 0, New("SELECT_V2", (positive, write("Sub", 1.0, q), q), write.shape, FLOAT))

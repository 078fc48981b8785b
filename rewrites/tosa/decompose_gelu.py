"""Write a GELU of float32 in operators that the converter gets right (TFLite only).

    GELU(x[2,3], approximate=True)   ->  x * 0.5 * (1 + TANH((x + 0.044715 * x*x*x) * 0.7978846))
    GELU(x[2,3], approximate=False)  ->  x * SELECT_V2(x >= 0, 1 - q, q)
                                         q = (b1*t + b2*t^2 + .. + b5*t^5) * EXP(x*x * -0.5),  t = 1 / (1 + ABS(x) * p)

The converter to TOSA writes a GELU of either kind with tosa.pow(x, 3), which is NaN for every negative x. q is half of
ERFC by formula 7.1.26 of Abramowitz and Stegun, whose error is at most 1.5e-7. The numbers may differ from those of
LiteRT's kernels in their last bits, so the rewrite is inexact: what each such operator computes is compared in runs of
both models, and may differ by 1e-4 of its largest magnitude. A quantized GELU is a table, which the converter gets
right; it stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, New, Replace, Source, scalar
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE
from graphfix.shapes.shape import Shape

ON = frozenset({(TFLITE, "GELU")})
CODE = "GF304"
FLOAT = "float32"
INEXACT = "it is rounded in other places than in LiteRT's kernel: it may differ by 1e-4 of its largest magnitude"
CUBE, SCALE = 0.044715, 0.7978845608028654
"""Of the form with TANH; the scale is the root of 2 / pi."""
SLOPE = 0.3275911 * 0.5**0.5
COEFFICIENTS = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
"""Of formula 7.1.26, the first power first."""


def plan(node: Node) -> Iterator[Edit]:
    """Replace a GELU of floats."""
    result = node.results[0]
    if result is None or node.operand(0).dtype != FLOAT:
        return
    form = _by_tanh if node.attributes.get("approximate") else _by_erf
    yield Replace(form(node.operand(0).ranked), CODE, INEXACT)


def _by_tanh(shape: Shape) -> New:
    cube = _each("MUL", shape, _each("MUL", shape, 0, 0), 0)
    inner = _each("ADD", shape, 0, _each("MUL", shape, cube, CUBE))
    bent = _each("TANH", shape, _each("MUL", shape, inner, SCALE))
    return _each("MUL", shape, _each("MUL", shape, 0, 0.5), _each("ADD", shape, bent, 1.0))


def _by_erf(shape: Shape) -> New:
    t = _each("DIV", shape, 1.0, _each("ADD", shape, _each("MUL", shape, _each("ABS", shape, 0), SLOPE), 1.0))
    *lower, top = (number / 2 for number in COEFFICIENTS)
    powers: Source = scalar(top, shape, FLOAT)
    for number in reversed(lower):
        powers = _each("ADD", shape, _each("MUL", shape, powers, t), number)
    bell = _each("EXP", shape, _each("MUL", shape, _each("MUL", shape, 0, 0), -0.5))
    q = _each("MUL", shape, _each("MUL", shape, powers, t), bell)
    positive = New("GREATER_EQUAL", (0, scalar(0.0, shape, FLOAT)), shape, "bool")
    chosen = New("SELECT_V2", (positive, _each("SUB", shape, 1.0, q), q), shape, FLOAT)
    return _each("MUL", shape, 0, chosen)


def _each(op: str, shape: Shape, *operands: Source | float) -> New:
    """An element-wise operator; a float stands for a constant."""
    sources = tuple(scalar(each, shape, FLOAT) if isinstance(each, float) else each for each in operands)
    return New(op, sources, shape, FLOAT)

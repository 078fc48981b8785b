"""Wrap the constant operands of a Concat in an operator (ONNX only; only with target tosa, or where it is named).

    Concat(x[2,3], c:const[2,2])  ->  Concat(x, Max(c, c))
    Concat(b:bool[2], c:const[1]) ->  Concat(b, Or(c, c))

torch-mlir converts a constant operand of a Concat to a constant of another dialect, so the conversion fails. It removes
Identity, Reshape, Expand, Slice and two Neg before that, so these operators do not help. The maximum of a number and
itself is the number, including NaN and the sign of zero (measured on random bit patterns of float16, float32 and
float64). Types of 8 bits are not changed, because TOSA has no maximum for them.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, New, Replace, Source
from graphfix.graph.view import Node, Value
from graphfix.targets.tosa.onnx import ITSELF

ON = frozenset({("", "Concat")})
CODE = "GF304"


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of a Concat that has constant operands."""
    result, operands = node.results[0], [value for value in node.operands if value is not None]
    constants = [value.kind == "constant" for value in operands]
    if result is None or not any(constants) or result.dtype not in ITSELF:
        return
    sources = tuple(_by_itself(value) if value.kind == "constant" else value for value in operands)
    axis = node.attributes.get("axis", 0)
    yield Replace(New("Concat", sources, result.shape, result.dtype, (("axis", axis),)), CODE)


def _by_itself(value: Value) -> Source:
    """Return a new node that wraps a constant."""
    return New(ITSELF[value.dtype], (value, value), value.shape, value.dtype)

"""Hand a Concat its constants by way of an operator (ONNX only; only with target tosa, or where it is named).

    Concat(x[2,3], c:const[2,2])  ->  Concat(x, Max(c, c))
    Concat(b:bool[2], c:const[1]) ->  Concat(b, Or(c, c))

torch-mlir makes a constant of another dialect of an operand that is one, and no TOSA comes of it; Identity, Reshape,
Expand, Slice and two Neg it removes first. The greater of a number and itself is that number, NaN and the sign of zero
included (measured on random bit patterns of float16, float32 and float64). 8 bits stay: TOSA has no maximum of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, New, Replace, Source
from graphfix.graph.view import Node, Value
from graphfix.targets.tosa.onnx import ITSELF

ON = frozenset({("", "Concat")})
CODE = "GF304"


def plan(node: Node) -> Iterator[Edit]:
    """Replace a Concat of constants, and of other values beside them."""
    result, operands = node.results[0], [value for value in node.operands if value is not None]
    constants = [value.kind == "constant" for value in operands]
    if result is None or not any(constants) or result.dtype not in ITSELF:
        return
    sources = tuple(_by_itself(value) if value.kind == "constant" else value for value in operands)
    axis = node.attributes.get("axis", 0)
    yield Replace(New("Concat", sources, result.shape, result.dtype, (("axis", axis),)), CODE)


def _by_itself(value: Value) -> Source:
    return New(ITSELF[value.dtype], (value, value), value.shape, value.dtype)

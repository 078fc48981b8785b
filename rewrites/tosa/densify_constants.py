"""Replace a sparse constant by the dense constant that the model unpacks it to (TFLite only).

    w[3,3,8,16] = DENSIFY(s[3,3,8,16])  ->  w[3,3,8,16]:const

LiteRT unpacks the constant each time the model runs, and the converters to TOSA do not convert DENSIFY. The elements
are those that LiteRT's own kernel computes, so every bit is the same. The file grows by the bytes that the sparse form
saved.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, Evaluate
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE

ON = frozenset({(TFLITE, "DENSIFY")})
CODE = "GF304"


def plan(node: Node) -> Iterator[Edit]:
    """Yield an edit that evaluates the node if its operand is a constant."""
    if node.operand(0).kind == "constant":
        yield Evaluate(CODE)

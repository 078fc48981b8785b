"""Put the branch that an If always takes in its place (only with target tosa, or where it is named).

    y = If(c, then_branch: {t = Relu(x)}, else_branch: {e = Neg(x)})    c is the constant True
    y = Relu(x)

The condition is a constant, or follows from constants and from sizes that are numbers. What the branch defines gets
names that are unique outside; its results take the names of the If's. The other branch goes, and with it what only it
read. In TFLite it is the subgraph of an IF that takes the operator's place; subgraphs at the end that nothing runs any
more go. An If whose condition depends on an input stays (`--set` makes a constant of an input), and so does an If in a
body that may never run: what is wrong there never happens, but a runtime that sees the shapes through it refuses the
whole model.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, Inline
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE

ON = frozenset({("", "If"), (TFLITE, "IF")})
CODE = "GF303"


def plan(node: Node) -> Iterator[Edit]:
    """Inline the branch that the condition chooses, where it is known."""
    if not node.operands or node.graph.outer is not None:
        return  # taken already, or in a body
    condition = node.operand(0)
    elements = condition.elements
    if elements is not None and len(elements) == 1:
        yield Inline("then_branch" if elements[0] else "else_branch")

"""Replace an If by the branch that it always runs (only with target tosa, or where it is named).

    y = If(c, then_branch: {t = Relu(x)}, else_branch: {e = Neg(x)})    c is the constant True
    y = Relu(x)

The condition must be a constant, or must follow from constants and from sizes that are numbers. Values of the branch
get new names that are unique outside, and its results get the names of the If's results. The other branch is removed,
and so are nodes that only that branch read. In TFLite the subgraph of an IF replaces the operator, and unused subgraphs
at the end of the file are removed.

An If whose condition depends on an input is not changed (`--set` turns an input into a constant). An If in a body that
may never run is not changed either. An error in it never occurs at run time, but after inlining, a runtime that checks
the shapes would refuse the whole model.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, Inline
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE

ON = frozenset({("", "If"), (TFLITE, "IF")})
CODE = "GF303"


def plan(node: Node) -> Iterator[Edit]:
    """Yield an edit that inlines the branch which the condition selects, if the condition is known."""
    if not node.operands or node.graph.outer is not None:
        return  # The node is already inlined, or it is in a body.
    condition = node.operand(0)
    elements = condition.elements
    if elements is not None and len(elements) == 1:
        yield Inline("then_branch" if elements[0] else "else_branch")

"""Replace results that are known before the model runs by constants (only with target tosa, or where it is named).

    s[4] = Shape(x[1,3,8,8]);  n[] = Gather(s, 0);  y = Reshape(x, Concat(n, [-1]))
    y = Reshape(x, [1,-1])

If sizes are numbers, shape arithmetic has known results: Shape, Gather, Slice, Concat, Cast, Range and the like, and in
TFLite SHAPE, STRIDED_SLICE, PACK, REDUCE_PROD, RANGE. Only results that are equal bit for bit in every runtime are
folded: moved elements, integers, comparisons, and float operations that IEEE 754 rounds correctly.

These nodes are not folded:

- a node with a result of more than 4096 elements
- a node of which only some results are known
- a node in a body that may never run

Nodes whose results nothing reads any more are removed. If `equalize-ranks` or `materialize-broadcasts` run too, this
rewrite runs once more after them, because they may reshape or stretch a known value.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, Evaluate
from graphfix.graph.protocols import ANY
from graphfix.graph.view import Node

ON = ANY
CODE = "GF303"
BY_ITSELF = frozenset({"Max", "Or"})
"""Operators by which concat-constant-operands wraps a constant."""


def _is_by_itself(node: Node) -> bool:
    """Return whether the node is a wrapped constant that concat-constant-operands made."""
    return node.op in BY_ITSELF and node.operands[:1] * 2 == node.operands


def plan(node: Node) -> Iterator[Edit]:
    """Yield an edit that evaluates the node if all of its results that are used are known."""
    if node.graph.outer is not None or _is_by_itself(node):
        return
    used = [value for value in node.results if value is not None and value.is_used]
    if used and all(value.computed_elements is not None for value in used):
        yield Evaluate(CODE)

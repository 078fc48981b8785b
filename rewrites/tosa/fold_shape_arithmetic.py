"""Write what is known before the model runs as a constant (only with target tosa, or where it is named).

    s[4] = Shape(x[1,3,8,8]);  n[] = Gather(s, 0);  y = Reshape(x, Concat(n, [-1]))
    y = Reshape(x, [1,-1])

Sizes that are numbers make shape arithmetic known: Shape, Gather, Slice, Concat, Cast, Range and the like, and in
TFLite SHAPE, STRIDED_SLICE, PACK, REDUCE_PROD, RANGE. Only what every runtime gives bit for bit is folded: elements
that move, whole numbers, comparisons, and float operations that IEEE 754 rounds correctly. A result of more than 4096
elements stays a node, and so does a node of which only some results are known, or one in a body that may never run.
What nobody reads any more goes. Where `equalize-ranks` or `materialize-broadcasts` run too, this rewrite runs once
more after them: the Reshape or the stretch of a known value becomes a constant.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, Evaluate
from graphfix.graph.protocols import ANY
from graphfix.graph.view import Node

ON = ANY
CODE = "GF303"
BY_ITSELF = frozenset({"Max", "Or"})
"""Operators by which a constant is handed to a Concat."""


def _is_by_itself(node: Node) -> bool:
    """Whether it is what concat-constant-operands makes of a constant."""
    return node.op in BY_ITSELF and node.operands[:1] * 2 == node.operands


def plan(node: Node) -> Iterator[Edit]:
    """Evaluate a node whose results are all known, as far as somebody wants them."""
    if node.graph.outer is not None or _is_by_itself(node):
        return
    used = [value for value in node.results if value is not None and value.is_used]
    if used and all(value.computed_elements is not None for value in used):
        yield Evaluate(CODE)

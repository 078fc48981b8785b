"""Drop a multiplication by one (ONNX).

    t[2,3] = Mul(x[2,3], w[1])    where w is [1.0]
    y[2,3] = Relu(t[2,3])                              ->  y[2,3] = Relu(x[2,3])

A number times one is that number, bit for bit. The product stays where the constant adds axes or repeats x, and where
its result is an output of the graph. What is undecided: an x of unknown rank.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.api.rewriting import Edit, Fold, Node, same_shape

ON = frozenset({("", "Mul")})
CODE = "MY101"


def plan(node: Node) -> Iterator[Edit]:
    """Let whoever reads the product read the other factor."""
    factor, result = node.operand(1), node.results[0]
    if factor.number != 1 or result is None:
        return
    if same_shape(node.operand(0).ranked, result.ranked):  # `ranked` says which rank is not known
        yield Fold(CODE)

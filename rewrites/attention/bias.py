"""The values that an Attention adds to its scores: a mask, and a causal bias that hides later keys from a query."""

from __future__ import annotations

from graphfix.graph.edits import New, Numbers, Source, scalar
from graphfix.graph.view import Node, optional_operand
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Shape
from rewrites.attention.nodes import FLOAT, Sizes, each

MASK = 3
"""The index of the operand with the mask."""
HIDDEN = float("-inf")
"""The number that is added to the score of a key that a query must not see."""


@dataclass(frozen=True, slots=True)
class Bias:
    """A value that is added to the scores, with its sizes."""

    source: Source
    sizes: Sizes


def is_masked(node: Node) -> bool:
    """Return whether the Attention has a mask."""
    return optional_operand(node, MASK) is not None


def bias_of(node: Node, near: Sizes, *, causal: bool) -> Bias | None:
    """Return the sum of the mask and the causal bias (if `causal`); None if there is neither of them.

    `near` is (number of queries, number of keys). A boolean mask becomes 0 where it is True and -infinity where it is
    False.
    """
    later = tuple(0.0 if key <= query else HIDDEN for query in range(near[0]) for key in range(near[1]))
    order = Bias(Numbers(later, near, FLOAT), near) if causal else None
    if not is_masked(node):
        return order
    sizes = node.operand(MASK).ranked.numbers
    mask: Source = MASK
    if node.operand(MASK).dtype == "bool":
        mask = each("Where", sizes, MASK, 0.0, HIDDEN)
    if order is None:
        return Bias(mask, sizes)
    both = (*sizes[:-2], *near)
    return Bias(each("Add", both, mask, order.source), both)


def or_nothing(weights: New, bias: Bias) -> New:
    """Return the weights with 0 for every query that sees no key, so that its result is not NaN."""
    kept = (*bias.sizes[:-1], 1)
    highest = New("ReduceMax", (bias.source, Numbers((-1,), (1,), "int64")), Shape(kept), FLOAT, (("keepdims", 1),))
    blind = New("Equal", (highest, scalar(HIDDEN, Shape(kept), FLOAT)), Shape(kept), "bool")
    return each("Where", weights.shape.numbers, blind, 0.0, weights)

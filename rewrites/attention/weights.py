"""New nodes for an Attention: the values, weighted by the similarity of each key to a query."""

from __future__ import annotations

from graphfix.graph.edits import New, Source
from graphfix.graph.view import Node
from graphfix.results.records import dataclass
from rewrites.attention.bias import bias_of, is_masked, or_nothing
from rewrites.attention.nodes import FLOAT, Sizes, each, expanded, transposed
from rewrites.recurrence.nodes import reshaped

QUERY, KEY, VALUE = range(3)
"""The indices of the operands."""
IN_FRONT = 4
"""The number of axes of data whose heads have an axis before the positions."""
HEADS_AND_POSITIONS, LAST_TWO = (0, 2, 1, 3), (0, 1, 3, 2)


@dataclass(frozen=True, slots=True)
class Heads:
    """Data with one axis for the heads: [batch,heads,positions,size]."""

    source: Source
    sizes: Sizes

    @staticmethod
    def of(node: Node, at: int, heads: int) -> Heads:
        """Return an operand in this form.

        Data of three axes, [batch,positions,heads*size], are reshaped and transposed.
        """
        sizes = node.operand(at).ranked.numbers
        if len(sizes) == IN_FRONT:
            return Heads(at, sizes)
        split = (*sizes[:2], heads, sizes[2] // heads)
        return Heads(transposed(reshaped(at, split), split, HEADS_AND_POSITIONS), (sizes[0], heads, sizes[1], split[3]))

    def repeated(self, heads: int) -> Heads:
        """Return the data with each head repeated so often that there are `heads` heads."""
        batch, own, positions, size = self.sizes
        if own == heads:
            return self
        lifted = reshaped(self.source, (batch, own, 1, positions, size))
        sizes = (batch, heads, positions, size)
        return Heads(reshaped(expanded(lifted, (batch, own, heads // own, positions, size)), sizes), sizes)


def attention(node: Node, heads: tuple[int, int], scale: float, *, causal: bool) -> New:
    """Return the last new node of the attention, with the axes of the query.

    `heads` is (heads of the query, heads of key and value), for operands of three axes.
    """
    query = Heads.of(node, QUERY, heads[0])
    batch, count, positions, _ = query.sizes
    key, value = (Heads.of(node, at, heads[1]).repeated(count) for at in (KEY, VALUE))
    root = scale**0.5
    keys = transposed(key.source, key.sizes, LAST_TWO)
    near = (batch, count, positions, key.sizes[2])
    scores = each(
        "MatMul", near, each("Mul", query.sizes, query.source, root), each("Mul", keys.shape.numbers, keys, root)
    )
    bias = bias_of(node, (positions, key.sizes[2]), causal=causal)
    if bias is not None:
        scores = each("Add", near, scores, bias.source)
    weights = New("Softmax", (scores,), scores.shape, FLOAT, (("axis", -1),))
    if bias is not None and is_masked(node):
        weights = or_nothing(weights, bias)
    made = each("MatMul", (*near[:3], value.sizes[3]), weights, value.source)
    if node.operand(QUERY).ranked.rank == IN_FRONT:
        return made
    return reshaped(
        transposed(made, made.shape.numbers, HEADS_AND_POSITIONS), (batch, positions, count * value.sizes[3])
    )

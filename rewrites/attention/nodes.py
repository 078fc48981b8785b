"""New nodes that both the attention and the rotary embedding use."""

from __future__ import annotations

from graphfix.graph.edits import New, Source, scalar, vector
from graphfix.shapes.dim import Shape

FLOAT = "float32"
Sizes = tuple[int, ...]


def each(op: str, sizes: Sizes, *operands: Source | float) -> New:
    """Return a new node whose result is float32 of these sizes. A float among the operands becomes a constant."""
    shape = Shape(sizes)
    return New(op, tuple(scalar(it, shape, FLOAT) if isinstance(it, float) else it for it in operands), shape, FLOAT)


def transposed(source: Source, sizes: Sizes, order: Sizes) -> New:
    """Return a new Transpose; `sizes` are those of the operand, and `order` is the permutation of its axes."""
    shape = Shape(tuple(sizes[axis] for axis in order))
    return New("Transpose", (source,), shape, FLOAT, (("perm", order),))


def expanded(source: Source, sizes: Sizes) -> New:
    """Return a new Expand that stretches axes of size 1 to these sizes."""
    return New("Expand", (source, vector(sizes)), Shape(sizes), FLOAT)

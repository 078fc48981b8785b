"""The new nodes that both are made of."""

from __future__ import annotations

from graphfix.graph.edits import New, Source, scalar, vector
from graphfix.shapes.dim import Shape

FLOAT = "float32"
Sizes = tuple[int, ...]


def each(op: str, sizes: Sizes, *operands: Source | float) -> New:
    """An operator whose result is float32 of these sizes; a float stands for a constant."""
    shape = Shape(sizes)
    return New(op, tuple(scalar(it, shape, FLOAT) if isinstance(it, float) else it for it in operands), shape, FLOAT)


def transposed(source: Source, sizes: Sizes, order: Sizes) -> New:
    """The axes in another order: `sizes` are those before."""
    shape = Shape(tuple(sizes[axis] for axis in order))
    return New("Transpose", (source,), shape, FLOAT, (("perm", order),))


def expanded(source: Source, sizes: Sizes) -> New:
    """Axes of size 1 stretched to these sizes."""
    return New("Expand", (source, vector(sizes)), Shape(sizes), FLOAT)

"""New nodes that connect the steps of a recurrent operator: slices, concatenations and reshapes, all of float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from graphfix.graph.edits import New, Source, vector
from graphfix.shapes.dim import Shape

FLOAT = "float32"
Sizes: TypeAlias = tuple[int, ...]


def sliced(source: Source, axis: int, start: int, end: int, sizes: Sizes) -> New:
    """Return a new Slice along one axis, from `start` to `end`; `sizes` are those of its result."""
    limits = (vector([number]) for number in (start, end, axis))
    return New("Slice", (source, *limits), Shape(sizes), FLOAT)


def concat(parts: Sequence[Source], axis: int) -> New:
    """Return a new Concat of the parts along `axis`. A part that is not a new node has size 1 along that axis."""
    shapes = [part.shape.numbers if isinstance(part, New) else () for part in parts]
    first = next(shape for shape in shapes if shape)
    total = sum(shape[axis] if shape else 1 for shape in shapes)
    sizes = (*first[:axis], total, *first[axis + 1 :])
    return New("Concat", tuple(parts), Shape(sizes), FLOAT, (("axis", axis),))


def unsqueezed(source: New, axis: int) -> New:
    """Return the value with one more unit axis at `axis`."""
    sizes = source.shape.numbers
    return reshaped(source, (*sizes[:axis], 1, *sizes[axis:]))


def reshaped(source: Source, sizes: Sizes) -> New:
    """Return a new Reshape to these sizes."""
    return New("Reshape", (source, vector(sizes)), Shape(sizes), FLOAT)


def transposed(source: Source, sizes: Sizes) -> New:
    """Return a new Transpose of weights for a product; `sizes` are those of the result, [1,rows,columns]."""
    return New("Transpose", (source,), Shape(sizes), FLOAT, (("perm", (0, 2, 1)),))


def columns(source: Source, rows: tuple[int, int], hidden: int, start: int, end: int) -> New:
    """Return the part of `source` from gate `start` to gate `end` along axis 2, of sizes [*rows,(end-start)*hidden]."""
    limits = (vector([number]) for number in (start * hidden, end * hidden, 2))
    return New("Slice", (source, *limits), Shape((*rows, (end - start) * hidden)), FLOAT)

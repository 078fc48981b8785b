"""The new nodes that put the steps of a recurrent operator together: parts, joins, and the same in other axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from graphfix.graph.edits import New, Source, vector
from graphfix.shapes.dim import Shape

FLOAT = "float32"
Sizes: TypeAlias = tuple[int, ...]


def sliced(source: Source, axis: int, start: int, end: int, sizes: Sizes) -> New:
    """A part along one axis, whose result has these sizes."""
    limits = (vector([number]) for number in (start, end, axis))
    return New("Slice", (source, *limits), Shape(sizes), FLOAT)


def concat(parts: Sequence[Source], axis: int) -> New:
    """The parts one behind another; a single one as it is."""
    shapes = [part.shape.numbers if isinstance(part, New) else () for part in parts]
    first = next(shape for shape in shapes if shape)
    total = sum(shape[axis] if shape else 1 for shape in shapes)
    sizes = (*first[:axis], total, *first[axis + 1 :])
    return New("Concat", tuple(parts), Shape(sizes), FLOAT, (("axis", axis),))


def unsqueezed(source: New, axis: int) -> New:
    """The same with an axis more."""
    sizes = source.shape.numbers
    return reshaped(source, (*sizes[:axis], 1, *sizes[axis:]))


def reshaped(source: Source, sizes: Sizes) -> New:
    """The same elements in other sizes."""
    return New("Reshape", (source, vector(sizes)), Shape(sizes), FLOAT)


def transposed(source: Source, sizes: Sizes) -> New:
    """Weights as a product takes them: [1,rows,columns] of sizes."""
    return New("Transpose", (source,), Shape(sizes), FLOAT, (("perm", (0, 2, 1)),))


def columns(source: Source, rows: tuple[int, int], hidden: int, start: int, end: int) -> New:
    """The parts from one gate to another, along axis 2: [*rows,(end-start)*H]."""
    limits = (vector([number]) for number in (start * hidden, end * hidden, 2))
    return New("Slice", (source, *limits), Shape((*rows, (end - start) * hidden)), FLOAT)

"""Write a Slice with negative steps as a Gather (ONNX only; only with target tosa, or where it is named).

    y[2,5] = Slice(x[2,5], [-1], [-9], axes=[1], steps=[-1])  ->  Gather(x, [4, 3, 2, 1, 0], axis=1)
    y[3,2] = Slice(x[5,2], [4], [-9], axes=[0], steps=[-2])   ->  Gather(x, [4, 2, 0], axis=0)

The converter takes a Slice with positive steps only. The Gather returns the same elements. Axes with positive steps
stay in a Slice in front of it, and each axis with a negative step gets a Gather. The bounds, the steps and the sizes
of these axes must be known; any other Slice with negative steps is left alone and reported (GF305).
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, New, Replace, Source, vector
from graphfix.graph.view import Node, optional_operand
from graphfix.shapes.dim import Shape

ON = frozenset({("", "Slice")})
CODE = "GF304"
MOST_ELEMENTS = 4096
LARGEST = 2**31 - 2
"""From this `end` on, onnxruntime runs a Slice with a negative step down to the first element."""


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of a Slice with negative steps: a Slice of the other axes, then a Gather per such axis."""
    data, result = node.operand(0).ranked, node.results[0]
    starts, ends, axes, steps = (_numbers(node, at) for at in range(1, 5))
    if result is None or not starts or not ends or axes is None or not steps or 0 in steps or min(steps) > 0:
        return
    axes = tuple(axis % data.rank for axis in axes or range(len(starts)))
    bounds = tuple(zip(axes, starts, ends, steps, strict=True))
    taken = {axis: _taken(data.dims[axis], *bound) for axis, *bound in bounds if bound[2] < 0}
    if not all(0 < len(places) <= MOST_ELEMENTS for places in taken.values()):
        return
    source: Source = 0
    dims = tuple(size if axis in taken else result.ranked.dims[axis] for axis, size in enumerate(data.dims))
    columns = [tuple(column) for column in zip(*(bound for bound in bounds if bound[3] > 0), strict=True)]
    if columns:
        at, first, last, step = (vector(column) for column in columns)
        source = New("Slice", (source, first, last, at, step), Shape(dims), result.dtype)
    for axis, places in taken.items():
        dims = (*dims[:axis], len(places), *dims[axis + 1 :])
        picked = vector(places)
        source = New("Gather", (source, picked), Shape(dims), result.dtype, (("axis", axis),))
    if isinstance(source, New):
        yield Replace(source, CODE)


def _numbers(node: Node, at: int) -> tuple[int, ...] | None:
    """Return the elements of an operand, () if the operand is absent; None if they are not known."""
    value = optional_operand(node, at)
    elements = () if value is None else value.elements
    return None if elements is None else tuple(map(int, elements))


def _taken(size: object, start: int, end: int, step: int) -> range:
    """Return the positions of an axis that a negative step reads; empty if they are not known, or runtimes differ."""
    if not isinstance(size, int) or start < -size or end >= LARGEST:
        return range(0)
    return range(*slice(start, end, step).indices(size))

"""Write a CUMSUM as a few sums of the value and a copy that is shifted by 1, 2, 4 .. (TFLite only).

    CUMSUM(x[2,4], 1)  ->  a = ADD(x, PAD(SLICE(x, [0,0], [2,3]), [[0,0],[1,0]]))
                           ADD(a, PAD(SLICE(a, [0,0], [2,2]), [[0,0],[2,0]]))

TOSA has no cumulative sum, and no converter writes one. Each step adds the value shifted by the number of elements that
the steps before it have summed. A reverse sum shifts in the other direction, and an exclusive sum is first shifted by
1. Integers are summed exactly in any order. Floats are rounded in another order than in LiteRT's kernel, so the rewrite
is inexact for floats. In runs of both models the result may differ by 1e-4 of its largest magnitude.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, New, Numbers, Replace, Source, reshape, vector
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE
from graphfix.shapes.dim import Shape

ON = frozenset({(TFLITE, "CUMSUM")})
CODE = "GF304"
INEXACT = {
    "int32": None,
    "float32": "floats are summed in another order: it may differ by 1e-4 of its largest magnitude",
}
"""Supported type -> the reason why the sum may differ, or None if it is exact."""
MOST_AXES = 5
"""The largest number of axes that LiteRT can pad."""


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of a CUMSUM along a known axis, if all sizes are numbers."""
    data, result, axes = node.operand(0), node.results[0], node.operand(1).elements
    if result is None or data.dtype not in INEXACT or axes is None or not data.ranked.static:
        return
    sizes, exclusive = data.shape.numbers, bool(node.attributes.get("exclusive"))
    axis = int(axes[0]) % len(sizes)
    length = sizes[axis]
    if 0 in sizes or (exclusive and length == 1) or len(sizes) > MOST_AXES:
        return
    reverse = bool(node.attributes.get("reverse"))
    value: Source = _moved(0, 1, sizes, axis, data.dtype, reverse=reverse) if exclusive else 0
    step = 1
    while step < length:
        moved = _moved(value, step, sizes, axis, data.dtype, reverse=reverse)
        value = New("ADD", (value, moved), Shape(sizes), data.dtype)
        step *= 2
    if not isinstance(value, New):
        value = _of_one(node, sizes, data.dtype)
    yield Replace(value, CODE, INEXACT[data.dtype])


def _of_one(node: Node, sizes: tuple[int, ...], dtype: str) -> New:
    """Return the new node for a sum of one number each. LiteRT's kernel begins with 0, so -0.0 becomes 0.0."""
    if dtype == "int32":
        return reshape(node, 0, sizes, dtype)
    return New("ADD", (0, Numbers((0.0,), (1,) * len(sizes), dtype)), Shape(sizes), dtype)


def _moved(value: Source, step: int, sizes: tuple[int, ...], axis: int, dtype: str, *, reverse: bool) -> New:
    """Return the value shifted by `step` along an axis, with zeros at the front; the other way if `reverse`."""
    count = len(sizes)
    kept = tuple(size - step if at == axis else size for at, size in enumerate(sizes))
    begin = tuple(step if at == axis and reverse else 0 for at in range(count))
    cut = New("SLICE", (value, vector(begin, "int32"), vector(kept, "int32")), Shape(kept), dtype)
    ends = (0, step) if reverse else (step, 0)
    paddings = [end for at in range(count) for end in (ends if at == axis else (0, 0))]
    return New("PAD", (cut, Numbers(tuple(paddings), (count, 2), "int32")), Shape(sizes), dtype)

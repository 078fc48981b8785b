"""Write a ReverseSequence of equal lengths as a Gather (ONNX only; only with target tosa, or where it is named).

    y[4,2,3] = ReverseSequence(x[4,2,3], [4, 4], time_axis=0)  ->  Gather(x, [3, 2, 1, 0], axis=0)
    y[4,2,3] = ReverseSequence(x[4,2,3], [3, 3], time_axis=0)  ->  Gather(x, [2, 1, 0, 3], axis=0)

The converter turns a ReverseSequence into a loop and then refuses the loop. It refuses a Slice with negative steps too.
The Gather returns the same elements. The lengths must be known and equal, and the number of time steps must be known;
any other ReverseSequence is left alone and reported (GF305).
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, New, Numbers, Replace
from graphfix.graph.view import Node

ON = frozenset({("", "ReverseSequence")})
CODE = "GF304"
MOST_STEPS = 4096


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of a ReverseSequence whose sequences all have the same known length."""
    data, result = node.operand(0), node.results[0]
    lengths = set(node.operand(1).elements or ())
    axis = node.attributes.get("time_axis", 0)
    if result is None or len(lengths) != 1 or axis not in (0, 1) or not data.ranked.rank > 1:
        return
    (length,), steps = lengths, data.ranked.dims[int(axis == 1)]
    if not isinstance(length, int) or not isinstance(steps, int) or not 1 <= length <= steps <= MOST_STEPS:
        return
    places = Numbers((*reversed(range(length)), *range(length, steps)), (steps,), "int64")
    yield Replace(New("Gather", (0, places), result.shape, result.dtype, (("axis", axis),)), CODE)

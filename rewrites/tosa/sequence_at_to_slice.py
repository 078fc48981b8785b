"""Write one part of a split as a slice (ONNX only; only with target tosa, or where it is named).

    y[2,2] = SequenceAt(SplitToSequence(x[2,6], 2, axis=1), 1)           ->  Slice(x, [2], [4], [1])
    y[2] = SequenceAt(SplitToSequence(x[2,6], axis=1, keepdims=0), 1)    ->  Squeeze(Slice(x, [1], [2], [1]), [1])

PyTorch's newer exporter writes every split and unbind in this form. Converters have no sequences, and a Slice returns
the same elements. The position and the sizes of the parts must be known. A position that is counted from the end also
requires a known size of the axis. Other operators that read the sequence are not changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from graphfix.graph.edits import Edit, New, Replace, vector
from graphfix.graph.view import Node, optional_operand
from graphfix.shapes.dim import Shape, Undecided

ON = frozenset({("", "SequenceAt")})
CODE = "GF304"
MOST_PARTS = 4096


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of a SequenceAt that reads a split.

    Raises Undecided if the sizes of the parts are not known.
    """
    split, result, place = node.operand(0).producer, node.results[0], node.operand(1).elements
    if split is None or split.op != "SplitToSequence" or split.domain or result is None or place is None:
        return
    data, axis = split.operand(0), split.attributes.get("axis", 0)
    shape = data.ranked
    keeps = split.attributes.get("keepdims", True)
    if optional_operand(split, 1) is not None and not keeps:
        return  # Sources disagree about whether the axis is dropped in this case.
    if not isinstance(axis, int) or not -shape.rank <= axis < shape.rank or len(place) != 1:
        return
    axis %= shape.rank
    parts = _parts(split, shape.dims[axis])
    if parts is None:
        raise Undecided(f"the sizes of the parts of {data} along axis {axis} are not known")
    at = int(place[0])
    if not -len(parts) <= at < len(parts):
        return
    end = list(accumulate(parts))[at]
    sizes = (*shape.dims[:axis], parts[at], *shape.dims[axis + 1 :])
    limits = (vector([number]) for number in (end - parts[at], end, axis))
    part = New("Slice", (data, *limits), Shape(sizes), data.dtype)
    if keeps:
        yield Replace(part, CODE)
        return
    yield Replace(New("Squeeze", (part, vector([axis])), Shape((*sizes[:axis], *sizes[axis + 1 :])), data.dtype), CODE)


def _parts(split: Node, size: object) -> Sequence[int] | None:
    """Return the sizes of the parts, or None if they are not known.

    Without a split operand, each size is 1. A vector lists all sizes. With a scalar, all sizes are equal, but the last
    part may be smaller.
    """
    sizes = optional_operand(split, 1)
    if sizes is not None:
        given = sizes.elements
        if given is None or not all(isinstance(each, int) and each >= 0 for each in given):
            return None
        numbers = [int(each) for each in given]
        if sizes.ranked.rank:
            return numbers
        each = numbers[0]
    else:
        each = 1
    if not isinstance(size, int) or each < 1 or size > MOST_PARTS * each:
        return None
    return [min(each, size - start) for start in range(0, size, each)]

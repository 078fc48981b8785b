"""The shapes of what a sequence holds: exporters write a split as SplitToSequence, and a SequenceAt for each part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof.onnx.layout_shapes import places
from graphfix.checker.proof.terms import MOST_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.checker.proof.onnx.operands import Call
    from graphfix.checker.proof.sizes import Dims, Size, Sizes
    from graphfix.checker.proof.terms import Core


def enter(call: Call, core: Core) -> None:
    """Enter what the result of a SplitToSequence holds, where the sizes of the parts are known."""
    sizes, keep = call.sizes(0), call.flag("keepdims", default=True)
    at = None if sizes is None else places((call.integer("axis", 0),), len(sizes))
    if sizes is None or at is None or keep is None or (call.operand(1) is not None and not keep):
        return
    parts = _parts(call, sizes[at[0]])
    if parts is not None:
        front, behind = sizes[: at[0]], sizes[at[0] + 1 :]
        call.table.parts[core] = tuple((*front, part, *behind) if keep else (*front, *behind) for part in parts)


def _parts(call: Call, size: Size) -> Sizes | None:
    """Return the sizes of the parts: each 1; as a vector says; or as a scalar says, and the last may be smaller."""
    given = (1,) if call.operand(1) is None else call.content(1)
    if given is None or call.rank(1) == 1:
        return given
    (each,) = given
    if not isinstance(size, int) or not isinstance(each, int) or each < 1 or size > MOST_ELEMENTS * each:
        return None
    return tuple(min(each, size - start) for start in range(0, size, each))


def element(call: Call) -> Dims:
    """Return the shape of the tensor that a SequenceAt takes, counted from the front or from the end."""
    sequence, place = call.operand(0), call.content(1)
    held: Sequence[Sizes] = () if sequence is None else call.table.parts.get(sequence.core, ())
    if place is None or call.rank(1) != 0 or not isinstance(place[0], int) or not -len(held) <= place[0] < len(held):
        return None
    return held[place[0]]

"""The shapes of what a sequence holds: exporters write a split as SplitToSequence, and a SequenceAt for each part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import helper

from graphfix.checker.proof.core.terms import MOST_ELEMENTS, Split
from graphfix.checker.proof.onnx.layout_shapes import places
from graphfix.checker.proof.onnx.reading.versions import PRESENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.checker.proof.core.sizes import Dims, Size, Sizes
    from graphfix.checker.proof.core.terms import Core, View
    from graphfix.checker.proof.onnx.reading.operands import Among, Call


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
        data = call.operand(0)
        if data is not None and all(isinstance(part, int) for part in parts):
            call.table.splits[core] = Split(data, at[0], tuple(part for part in parts if isinstance(part, int)), keep)


def _parts(call: Call, size: Size) -> Sizes | None:
    """Return the sizes of the parts: each 1; as a vector says; or as a scalar says, and the last may be smaller."""
    given = (1,) if call.operand(1) is None else call.content(1)
    if given is None or call.rank(1) == 1:
        return given
    (each,) = given
    if not isinstance(size, int) or not isinstance(each, int) or each < 1 or size > MOST_ELEMENTS * each:
        return None
    return tuple(min(each, size - start) for start in range(0, size, each))


def taken(call: Call, among: Among) -> View | None:
    """Read a SequenceAt of a split as the part that it takes; None where the place or the parts are not known."""
    sequence, place = call.operand(0), call.content(1)
    split = None if sequence is None else call.table.splits.get(sequence.core)
    if split is None or place is None or call.rank(1) != 0 or not isinstance(place[0], int):
        return None
    at = place[0]
    if not -len(split.parts) <= at < len(split.parts):
        return None
    at %= len(split.parts)
    start = sum(split.parts[:at])
    nodes = [
        helper.make_node("Constant", [], ["start"], value_ints=[start]),
        helper.make_node("Constant", [], ["end"], value_ints=[start + split.parts[at]]),
        helper.make_node("Constant", [], ["axis"], value_ints=[split.axis]),
        helper.make_node("Slice", ["x", "start", "end", "axis"], ["part"], call.description),
    ]
    if not split.keep:
        nodes.append(helper.make_node("Squeeze", ["part", "axis"], ["y"], call.description))
    return among(nodes, max(call.version, PRESENT), {"x": split.data})


def element(call: Call) -> Dims:
    """Return the shape of the tensor that a SequenceAt takes, counted from the front or from the end."""
    sequence, place = call.operand(0), call.content(1)
    held: Sequence[Sizes] = () if sequence is None else call.table.parts.get(sequence.core, ())
    if place is None or call.rank(1) != 0 or not isinstance(place[0], int) or not -len(held) <= place[0] < len(held):
        return None
    return held[place[0]]

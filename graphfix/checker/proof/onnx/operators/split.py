"""Rules for Split and for sequences. Exporters write a split as a SplitToSequence and a SequenceAt for each part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import MOST_ELEMENTS, Split
from graphfix.checker.proof.onnx.operators.entry import Operator, allowed_axis, normalized_axes
from graphfix.checker.proof.onnx.reading.versions import CURRENT_SET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.checker.proof.core.sizes import Dims, Size, Sizes
    from graphfix.checker.proof.core.terms import Core, ProofValue
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.onnx.operators.entry import Operators
    from graphfix.checker.proof.onnx.reading.operands import Call, NodesReader

COUNTED_PARTS = 18
"""From this version on a Split states the sizes or the number of its parts, and the last part may be smaller."""

# --- Split ----------------------------------------------------------------------------------------------------------


def _split_sizes(call: Call, index: int) -> Dims:
    """Return the dims of part `index` of a Split; None if the rank is unknown or the axis is out of range."""
    sizes, axis = call.sizes(0), call.integer("axis", 0)
    if sizes is None or not -len(sizes) <= axis < len(sizes):
        return None
    axis %= len(sizes)
    return (*sizes[:axis], _part_size(call, sizes[axis], index), *sizes[axis + 1 :])


def _part_size(call: Call, size: Size, index: int) -> Size | None:
    """Return the length of part `index` of an axis of this size; None if it is unknown."""
    count = len(call.result_names)
    if call.operand(1) is not None:
        parts = call.int64_vector(1)
        return parts[index] if parts is not None and len(parts) == count else None
    if call.version >= COUNTED_PARTS and call.integer("num_outputs", 0) != count:
        return None
    if isinstance(size, int):
        return equal_part(size, count, index)
    return call.table.arithmetic.quotient(size, count)


def equal_part(size: int, count: int, index: int) -> int | None:
    """Return the length of part `index` of an axis that is split into `count` equal parts: 7 by 3 -> 3, 3, 1.

    The last part may be smaller. Return None if there are more parts than elements, or if the other parts together are
    longer than the axis, as for 5 by 4.
    """
    most = -(-size // count)
    last = size - most * (count - 1)
    return None if last < 0 or count > size else last if index == count - 1 else most


def _split_fold(call: Call, arrays: Sequence[Array | None]) -> Sequence[Array] | None:
    """Compute a Split of a constant: by sizes, by the number of parts, or (before set 18) into equal parts.

    Return None if the node is not valid. From set 18 on, a node must state either sizes or the number of parts.
    """
    data, parts = [*arrays, None][:2]
    axis, count = None if data is None else allowed_axis(call, 0, data.ndim), len(call.result_names)
    if data is None or axis is None:
        return None
    size, numbered = data.shape[axis], "num_outputs" in call.attributes
    if call.version >= COUNTED_PARTS and numbered is (parts is not None):
        return None
    if parts is not None:
        return _split_array(data, parts.tolist(), axis, count) if parts.ndim == 1 and parts.dtype == np.int64 else None
    if (call.integer("num_outputs", 0) != count) if numbered else size % count:
        return None
    even = [equal_part(size, count, at) for at in range(count)]
    return _split_array(data, [part for part in even if part is not None], axis, count)


def _split_array(data: Array, sizes: Sequence[int], axis: int, count: int) -> Sequence[Array] | None:
    """Split an array along an axis into parts of these sizes; None if they do not add up to its length.

    `count` is the number of results that the node has, which must be the number of sizes.
    """
    fits = sum(sizes) == data.shape[axis] and len(sizes) == count and min(sizes) >= 0
    return np.split(data, np.cumsum(sizes)[:-1], axis) if fits else None


# --- sequences --------------------------------------------------------------------------------------------------------


def enter_parts(call: Call, core: Core) -> None:
    """Record the shapes of the parts that a SplitToSequence returns, if the sizes of the parts are known.

    `core` is the core of the sequence.
    """
    sizes, keep = call.sizes(0), call.flag("keepdims", default=True)
    at = None if sizes is None else normalized_axes((call.integer("axis", 0),), len(sizes))
    if sizes is None or at is None or keep is None or (call.operand(1) is not None and not keep):
        return
    parts = _part_sizes(call, sizes[at[0]])
    if parts is not None:
        front, behind = sizes[: at[0]], sizes[at[0] + 1 :]
        call.table.sequence_shapes[core] = tuple(
            (*front, part, *behind) if keep else (*front, *behind) for part in parts
        )
        data = call.operand(0)
        part_numbers = numbers(parts)
        if data is not None and part_numbers is not None:
            call.table.sequence_splits[core] = Split(data, at[0], part_numbers, keep)


def _part_sizes(call: Call, size: Size) -> Sizes | None:
    """Return the sizes of the parts into which a SplitToSequence splits an axis of `size`; None if they are unknown.

    Operand 1 states the sizes. A vector contains the size of each part. A scalar is the size of all parts but the last,
    which may be smaller. Without operand 1 each part has size 1.
    """
    given = (1,) if call.operand(1) is None else call.content(1)
    if given is None or call.rank(1) == 1:
        return given
    (each,) = given
    if not isinstance(size, int) or not isinstance(each, int) or each < 1 or size > MOST_ELEMENTS * each:
        return None
    return tuple(min(each, size - start) for start in range(0, size, each))


def sequence_part_as_slice(call: Call, among: NodesReader) -> ProofValue | None:
    """Return the part that a SequenceAt selects from a split tensor, as a Slice of that tensor.

    `among` reads the nodes of that Slice. Return None if the position or the sizes of the parts are not numbers.
    """
    sequence, place = call.operand(0), call.content(1)
    split = None if sequence is None else call.table.sequence_splits.get(sequence.core)
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
    return among(nodes, max(call.version, CURRENT_SET), {"x": split.data})


def _element_sizes(call: Call) -> Dims:
    """Return the shape of the tensor that a SequenceAt selects; None if it is unknown.

    A negative position counts from the end.
    """
    sequence, place = call.operand(0), call.content(1)
    part_sizes: Sequence[Sizes] = () if sequence is None else call.table.sequence_shapes.get(sequence.core, ())
    if (
        place is None
        or call.rank(1) != 0
        or not isinstance(place[0], int)
        or not -len(part_sizes) <= place[0] < len(part_sizes)
    ):
        return None
    return part_sizes[place[0]]


OPERATORS: Operators = {
    "Split": Operator(each_size=_split_sizes, fold=_split_fold),
    "SequenceAt": Operator(sizes=_element_sizes),
    **dict.fromkeys(("SequenceLength", "OptionalHasElement"), Operator(sizes=lambda _: ())),
}

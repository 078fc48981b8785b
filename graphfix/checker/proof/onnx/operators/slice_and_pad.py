"""Rules for Slice and Pad, which shorten and lengthen axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper, numpy_helper

from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import integer_type
from graphfix.checker.proof.neutral.integer_values import cut_size, slice_indices
from graphfix.checker.proof.onnx.operators.entry import Operator, allowed_axes, normalized_axes, unknown_sizes
from graphfix.checker.proof.onnx.operators.reshaping import MATRIX_RANK, enter_matrix, matrix_rows, matrix_type
from graphfix.checker.proof.onnx.reading.versions import CURRENT_SET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx import NodeProto

    from graphfix.checker.proof.core.sizes import Dims, Size
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.onnx.operators.entry import Operators
    from graphfix.checker.proof.onnx.reading.operands import Call, NodesReader

AXES_OF_PAD = 3
"""The index of the operand of Pad that lists the padded axes."""
_SLICE_OPERANDS = 5
"""The number of operands of Slice: data, starts, ends, axes, steps."""
_STEPS = 4
"""The index of the operand of Slice that contains the steps."""

# --- Slice ----------------------------------------------------------------------------------------------------------


def slice_sizes(call: Call) -> Dims:
    """Return the dims of a Slice; None if the rank is unknown.

    If the bounds are unknown, the sliced axes have unknown sizes. If the axes are unknown too, all sizes are unknown.
    """
    sizes = call.sizes(0)
    if sizes is None:
        return None
    starts, ends, axes, steps = (call.index_vector(at) for at in range(1, 5))
    count = len(starts or ends or ())
    at = normalized_axes(range(count) if call.operand(3) is None else numbers(axes), len(sizes))
    if not at:
        return unknown_sizes(len(sizes))
    by = (1,) * len(at) if call.operand(4) is None else steps
    if starts is None or ends is None or by is None or not len(at) == len(by) == len(starts) == len(ends):
        # The other axes are not sliced.
        return tuple([None if axis in at else size for axis, size in enumerate(sizes)])
    cuts = dict(zip(at, zip(starts, ends, by, strict=True), strict=True))
    return tuple(_cut_size(call, size, cuts[axis]) if axis in cuts else size for axis, size in enumerate(sizes))


def _cut_size(call: Call, size: Size, bounds: tuple[Size, Size, Size]) -> Size | None:
    """Return the length of an axis of `size` that is sliced by `bounds`: start, end, step. None if it is unknown."""
    size_and_bounds = numbers((size, *bounds))
    if size_and_bounds is None:
        return cut_size(call.table.arithmetic, size, *bounds)
    taken = slice_indices(*size_and_bounds)
    return None if taken is None else len(taken)


def _slice_vector(call: Call) -> ProofValue | None:
    """Return the elements that a Slice selects from a vector of known integers; None for any other node.

    The step must be positive, and all bounds must be numbers.
    """
    content, view = call.content(0), call.views[0]
    dtype = integer_type(view) if view is not None else None
    given = [
        (integer_type(part), call.rank(index)) for index, part in enumerate(call.views) if index and part is not None
    ]
    if content is None or dtype is None or call.rank(0) != 1 or len(given) != len(call.views) - 1:
        return None
    if len(set(given)) != 1 or given[0] not in (("int32", 1), ("int64", 1)):
        return None
    parts = [call.content(index) or () for index in range(1, len(call.views))]
    bounds = [part[0] for part in parts if len(part) == 1 and isinstance(part[0], int)]
    start, end, axis, step = (*bounds, *(0, 0, 0, 1)[len(bounds) :])
    if len(bounds) < len(parts) or axis not in (0, call.lowest_axis(1)) or step < 1:
        return None
    return call.table.integers(content[start:end:step], dtype)


def _slice_matrix(call: Call) -> ProofValue | None:
    """Return the rows or columns that a Slice selects from a matrix of known integers; None for any other node.

    The Slice must have one axis, with bounds that are numbers.
    """
    rows = matrix_rows(call.operand(0))
    given = [call.index_vector(at) for at in range(1, len(call.views))]
    bounds = [numbers(part) for part in given]
    single = [part[0] for part in bounds if part is not None and len(part) == 1]
    if rows is None or len(single) < len(given) or None in call.views:
        return None
    start, end, axis, step = (*single, *(0, 0, 0, 1)[len(single) :])
    at = normalized_axes((axis,), MATRIX_RANK)
    taken = None if at is None else slice_indices((len(rows), len(rows[0]))[at[0]], start, end, step)
    if at is None or taken is None:
        return None
    kept = [rows[row] for row in taken] if at[0] == 0 else [[row[column] for column in taken] for row in rows]
    return enter_matrix(call.table, kept, matrix_type(call))


def _slice_fold(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    """Compute a Slice of constants; None if runtimes may disagree.

    Its bounds, axes and steps must have one shape and one type.
    """
    data, starts, ends, axes, steps = [*arrays, None, None][:_SLICE_OPERANDS]
    given = [part for part in (starts, ends, axes, steps) if part is not None]
    if data is None or starts is None or ends is None or starts.ndim != 1:
        return None
    if len({(part.shape, part.dtype) for part in given}) != 1:
        return None
    at = allowed_axes(call, range(starts.size) if axes is None else axes.tolist(), data.ndim)
    if at is None:
        return None
    strides = [1] * starts.size if steps is None else steps.tolist()
    for place, start, end, step in zip(at, starts.tolist(), ends.tolist(), strides, strict=True):
        taken = slice_indices(data.shape[place], start, end, step)
        if taken is None:
            return None
        data = np.take(data, list(taken), axis=place) if taken else data[(slice(None),) * place + (slice(0),)]
    return data


def negative_steps_as_gather(call: Call, among: NodesReader) -> ProofValue | None:
    """Return a Slice with negative steps as a Slice of the other axes, and a Gather on each axis with a negative step.

    `among` reads these nodes. Return None if all steps are positive, or if a bound, a step or a needed size is not a
    number. Return None also for known integers, whose own rule slices them: exporters reverse the pads of a Pad as a
    matrix of pairs.
    """
    data, sizes, bounds = call.operand(0), call.sizes(0), _known_bounds(call)
    if data is None or sizes is None or not bounds or min(step for *_, step in bounds) > 0:
        return None
    if data.core.content is not None:
        return None
    nodes = _slice_of(call, [bound for bound in bounds if bound[-1] > 0])
    for axis, *bound in (bound for bound in bounds if bound[-1] <= 0):
        size = sizes[axis]
        # The result is None for a step of 0, which runtimes refuse.
        taken = slice_indices(size, *bound) if isinstance(size, int) else None
        if not taken:
            return None
        name, picked = nodes[-1].output[0] if nodes else "x", numpy_helper.from_array(np.array(taken, np.int64))
        nodes.append(helper.make_node("Constant", [], [f"places{axis}"], value=picked))
        nodes.append(helper.make_node("Gather", [name, f"places{axis}"], [f"y{axis}"], call.description, axis=axis))
    return among(nodes, max(call.version, CURRENT_SET), {"x": data})


def _slice_of(call: Call, bounds: Sequence[tuple[int, int, int, int]]) -> list[NodeProto]:
    """Return the nodes that slice `x` by `bounds`, each (axis, start, end, step).

    The list is empty if there are no bounds.
    """
    if not bounds:
        return []
    columns = dict(zip(("axes", "starts", "ends", "steps"), zip(*bounds, strict=True), strict=True))
    constants = [helper.make_node("Constant", [], [name], value_ints=column) for name, column in columns.items()]
    return [*constants, helper.make_node("Slice", ["x", "starts", "ends", "axes", "steps"], ["cut"], call.description)]


def _known_bounds(call: Call) -> list[tuple[int, int, int, int]] | None:
    """Return (axis, start, end, step) for each axis of a Slice that states its steps; None if a number is unknown."""
    steps = numbers(call.index_vector(_STEPS)) if call.operand(_STEPS) is not None else None
    starts, ends, axes = (numbers(call.index_vector(at)) for at in range(1, _STEPS))
    if starts is None or ends is None or steps is None:
        return None
    at = normalized_axes(range(len(starts)) if call.operand(3) is None else axes, call.rank(0) or 0)
    if at is None or not len(at) == len(starts) == len(ends) == len(steps):
        return None
    return list(zip(at, starts, ends, steps, strict=True))


# --- Pad ------------------------------------------------------------------------------------------------------------


def _pad_sizes(call: Call) -> Dims:
    """Return the dims of a Pad, with None for each axis whose padding is unknown; None if the rank is unknown."""
    sizes = call.sizes(0)
    if sizes is None:
        return None
    rank, pads = len(sizes), call.partial_vector(1)
    given = call.operand(AXES_OF_PAD)
    axes = normalized_axes(range(rank) if given is None else numbers(call.index_vector(AXES_OF_PAD)), rank)
    if axes is None or pads is None or len(pads) != 2 * len(axes):
        return unknown_sizes(rank)
    added = {axis: (pads[at], pads[at + len(axes)]) for at, axis in enumerate(axes)}
    return tuple(_padded_size(call, size, added.get(axis, (0, 0))) for axis, size in enumerate(sizes))


def _padded_size(call: Call, size: Size, pads: Sequence[Size | None]) -> Size | None:
    """Return the size of an axis with padding in front and behind (`pads`); None if it is unknown or below 0."""
    known_pads = [pad for pad in pads if pad is not None]
    padded = call.table.arithmetic.add(size, *known_pads) if len(known_pads) == len(pads) else None
    return None if isinstance(padded, int) and padded < 0 else padded


OPERATORS: Operators = {
    "Slice": Operator(
        sizes=slice_sizes, view=lambda call: _slice_vector(call) or _slice_matrix(call), fold=_slice_fold
    ),
    "Pad": Operator(sizes=_pad_sizes),
}

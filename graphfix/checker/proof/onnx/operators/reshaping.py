"""Rules for operators that keep all elements and change the axes.

They are Reshape, Squeeze, Unsqueeze, Flatten, Transpose, DepthToSpace and SpaceToDepth. Known integers are vectors.
They may also be matrices, because exporters reverse the pads of a Pad as a matrix of pairs.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from graphfix.checker.proof.core.result import NO_SIZE_IS_0
from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import MOST_ELEMENTS, ProofValue, integer_type
from graphfix.checker.proof.neutral import repeat_elements, views
from graphfix.checker.proof.neutral.views import unit_axes
from graphfix.checker.proof.onnx.operators.entry import SIZE_TYPE_NUMBERS, Operator, normalized_axes, unknown_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphfix.checker.proof.core.sizes import Dims, Size, Sizes
    from graphfix.checker.proof.core.terms import TermTable
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.onnx.operators.entry import Operators
    from graphfix.checker.proof.onnx.reading.operands import Call

TARGET_AS_OPERAND = 5
"""From this version on Reshape's target is an operand. Before, it is an attribute, in which a 0 copies a size."""
_MOST_AXES = 1 << 31
PLANES = 4
"""The rank of operators on images: [batch,channels,rows,columns]."""
_MATRIX = "matrix"
"""The kind of the terms of matrices of known integers.

A matrix is not a constant, because at least one element is a term that is not a number.
"""
MATRIX_RANK = 2

# --- Reshape --------------------------------------------------------------------------------------------------------


def sizes_of_length(sizes: Sizes | None) -> Dims:
    """Return the dims, all unknown, of a value whose shape vector has these `sizes`: [3] -> (None, None, None).

    Return None if the length of the vector is unknown or too large.
    """
    if sizes is None or len(sizes) != 1 or not isinstance(sizes[0], int) or sizes[0] > MOST_ELEMENTS:
        return None
    return unknown_sizes(sizes[0])


def _reshape_sizes(call: Call) -> Dims:
    """Return the dims that the target of a Reshape states; only the rank if the target is unknown."""
    if call.meaning_version < TARGET_AS_OPERAND:
        return None
    target, copies = call.partial_target_shape(1), call.flag("allowzero")
    if target is None or copies is None:
        return sizes_of_length(call.sizes(1))
    own = call.sizes(0) or ()
    dims = tuple(
        own[axis] if size == 0 and not copies and axis < len(own) else _target_size(call, axis, size)
        for axis, size in enumerate(target)
    )
    return _with_open_size(call, own, target, dims)


def _target_size(call: Call, axis: int, size: Size | None) -> Size | None:
    """Return the size that an element of a Reshape's target means; None for -1, and for a 0 that copies a size.

    A term could be 0 at run time and then copy a size, so the proof assumes that no size is 0. `axis` is the element's
    position.
    """
    own = call.sizes(0) or ()
    allows_zero = bool(call.integer("allowzero", 0))
    if size is None or isinstance(size, int):
        return size if size is not None and (size > 0 or (size == 0 and allows_zero)) else None
    if not allows_zero and axis < len(own) and not _zero_with(call, own[axis], size):
        call.table.assumptions[NO_SIZE_IS_0] = None
    return size


def _zero_with(call: Call, own: Size, size: Size) -> bool:
    """Return whether the operand's size `own` is 0 wherever the target's size `size` is 0."""
    return own == size or call.table.arithmetic.quotient(own, size) is not None


def _with_open_size(call: Call, own: Sizes, target: Sequence[Size | None], dims: tuple[Size | None, ...]) -> Dims:
    """Return `dims` with the size that a -1 in `target` means, if all other sizes are known and not 0.

    `own` is the shape of the reshaped operand.
    """
    wanted = [size for size in dims if size is not None and size != 0]
    if len(wanted) != len(dims) - 1 or target.count(-1) != 1 or not own:
        return dims
    if call.integer("allowzero", 0) and numbers(wanted) is None:
        call.table.assumptions[NO_SIZE_IS_0] = None
    left = call.table.arithmetic.inferred_size(own, wanted)
    return tuple(left if size == -1 else dims[at] for at, size in enumerate(target))


def _reshape_view(call: Call) -> ProofValue | None:
    """Return the result of a Reshape that only changes unit axes or joins repeated elements, or its known integers.

    Return None for any other Reshape.
    """
    view = call.views[0]
    target = call.integers("shape") if call.meaning_version < TARGET_AS_OPERAND else call.target_shape(1)
    copies = call.flag("allowzero")
    if view is None or target is None or copies is None:
        return None
    reshaped_view = _reshape_vector(call.table, view, target) or _reshape_matrix(call, target, integer_type(view))
    if reshaped_view is not None:
        return reshaped_view
    seen = views.reshaped(view, target, zero_copies=not copies)
    if seen is not None:
        return seen
    sizes = tuple(size for size in target if isinstance(size, int) and size > 0)
    return repeat_elements.merged(call.table, view, sizes, call.description) if len(sizes) == len(target) else None


def _reshape_vector(table: TermTable, view: ProofValue, target: Sizes) -> ProofValue | None:
    """Return a vector or scalar of known integers, reshaped to a vector; None for any other value or target."""
    content, dtype = view.content, integer_type(view)
    if content is None or dtype is None or target not in ((-1,), (len(content),)):
        return None
    return table.integers(content, dtype)


def _reshape_matrix(call: Call, target: Sizes, kind: str | None) -> ProofValue | None:
    """Return a vector of terms as a matrix of the target's shape, or a matrix of known integers as a vector.

    `kind` is the element type. Return None for any other value or target, and for a vector that contains only numbers,
    because constant folding computes that.
    """
    view, wanted = call.views[0], numbers(target)
    if view is None or wanted is None:
        return None
    rows = matrix_rows(view)
    if rows is not None:
        flat = tuple(element for row in rows for element in row)
        return call.table.integers(flat, str(view.core.key[1])) if wanted in ((-1,), (len(flat),)) else None
    content = view.content
    if content is None or kind not in SIZE_TYPE_NUMBERS or numbers(content) is not None or len(wanted) != MATRIX_RANK:
        return None
    wanted_product = prod(size for size in wanted if size > 0)
    if min(wanted) < -1 or 0 in wanted or wanted == (-1, -1) or len(content) % wanted_product:
        return None
    height, width = (len(content) // wanted_product if size < 0 else size for size in wanted)
    if height * width != len(content):
        return None
    return enter_matrix(call.table, [content[at * width : (at + 1) * width] for at in range(height)], kind)


def _reshape_fold(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    """Compute a Reshape of a constant; None if the target is not valid, or if runtimes may disagree."""
    data, target = arrays
    if data is None or target is None or target.ndim != 1 or call.flag("allowzero") is None:
        return None
    sizes = target.tolist()
    if min(sizes, default=0) < -1 or sizes.count(-1) > 1 or (call.flag("allowzero") and 0 in sizes):
        return None
    return data.reshape([size or data.shape[axis] for axis, size in enumerate(sizes)])


# --- matrices of known integers -----------------------------------------------------------------------------------


def matrix_rows(view: ProofValue | None) -> list[Sizes] | None:
    """Return the rows of a matrix of known integers that is read as it is; None for any other value."""
    if view is None or view.core.key[0] != _MATRIX or view != ProofValue(view.core, (0, 1), view.core.sizes):
        return None
    content, width = view.core.content or (), (numbers(view.core.sizes) or (0, 1))[1]
    return [content[at : at + width] for at in range(0, len(content), width)]


def enter_matrix(table: TermTable, rows: Sequence[Sequence[Size]], kind: str) -> ProofValue | None:
    """Return rows of equal length as a matrix of known integers; None if there are fewer than two rows or columns.

    `kind` is the element type.
    """
    sizes = len(rows), len(rows[0]) if rows else 0
    if min(sizes) <= 1:
        return None
    content = tuple(element for row in rows for element in row)
    core, new = table.find_or_create_core(
        (_MATRIX, kind, sizes, content), f"{[list(row) for row in rows]}", counted=False
    )
    if new:
        core.content, core.sizes, core.dtype = content, sizes, SIZE_TYPE_NUMBERS[kind]
    return ProofValue(core, (0, 1), sizes)


def matrix_type(call: Call) -> str:
    """Return the element type of operand 0, which is a matrix of known integers."""
    view = call.views[0]
    return "" if view is None else str(view.core.key[1])


# --- Transpose ------------------------------------------------------------------------------------------------------


def _transpose_sizes(call: Call) -> Dims:
    """Return the dims of a Transpose; None if the rank is unknown or `perm` is no permutation of the axes."""
    sizes = call.sizes(0)
    if sizes is None:
        return None
    given = call.integers("perm")
    order = tuple(reversed(range(len(sizes)))) if given is None else given
    return tuple(sizes[axis] for axis in order) if sorted(order) == list(range(len(sizes))) else None


def _transpose_view(call: Call) -> ProofValue | None:
    """Return the transpose of a matrix of known integers; None for any other operand."""
    rows = matrix_rows(call.operand(0))
    if rows is None or call.integers("perm") not in (None, (1, 0)):
        return None
    return enter_matrix(call.table, list(zip(*rows, strict=True)), matrix_type(call))


def _transpose_fold(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    """Compute a Transpose of a constant; None if `perm` is no permutation of the axes."""
    data, order = arrays[0], call.integers("perm")
    if data is None or (order is not None and sorted(order) != list(range(data.ndim))):
        return None
    return np.transpose(data, order)


# --- Squeeze, Unsqueeze, Flatten --------------------------------------------------------------------------------------


def _squeeze_sizes(call: Call) -> Dims:
    """Return the dims of a Squeeze; None if the rank or the axes are unknown or not valid.

    Without axes, every axis of size 1 is dropped, so no size may be a symbol that could be 1.
    """
    sizes, axes = call.sizes(0), call.axes()
    if sizes is None:
        return None
    if "axes" not in call.attributes and call.operand(1) is None:
        units = unit_axes(call.table.arithmetic, sizes)
        return None if units is None else tuple(size for size in sizes if size != 1)
    gone = normalized_axes(axes, len(sizes)) if axes else None
    return None if gone is None else tuple(size for axis, size in enumerate(sizes) if axis not in gone)


def _squeeze_view(call: Call) -> ProofValue | None:
    """Return the result of a Squeeze: operand 0 with another map.

    Return None if the axes are unknown or not allowed.
    """
    axes = call.axes()
    given = "axes" in call.attributes or call.operand(1) is not None
    if call.views[0] is None or (given and not axes) or min(axes or (), default=0) < call.lowest_axis(_MOST_AXES):
        return None  # Runtimes do not agree on the meaning of an empty list of axes.
    if axes and normalized_axes(axes, call.rank(0) or 0) is None:
        return None
    gone = axes if given else views.unit_axes(call.table.arithmetic, call.sizes(0))
    return None if gone is None else views.squeezed(call.views[0], gone)


def _unsqueeze_sizes(call: Call) -> Dims:
    """Return the dims of an Unsqueeze; None if the rank or the axes are unknown or not valid."""
    sizes, axes = call.sizes(0), call.axes()
    if sizes is None or axes is None:
        return None
    rank = len(sizes) + len(axes)
    new, old = normalized_axes(axes, rank), iter(sizes)
    return None if new is None else tuple(1 if axis in new else next(old) for axis in range(rank))


def _unsqueeze_view(call: Call) -> ProofValue | None:
    """Return the result of an Unsqueeze: operand 0 with another map.

    Return None if the axes are unknown or not allowed.
    """
    axes = call.axes()
    if call.views[0] is None or not axes or min(axes) < call.lowest_axis(_MOST_AXES):
        return None
    return views.unsqueezed(call.views[0], axes)


def _flatten_sizes(call: Call) -> Dims:
    """Return the two sizes of a Flatten, None for each unknown size: [2,3,4] with axis 1 -> [2,12]."""
    sizes, axis = call.sizes(0), call.integer("axis", 1)
    if sizes is None or not call.lowest_axis(len(sizes)) <= axis <= len(sizes):
        return (None, None)
    at, arithmetic = axis + len(sizes) if axis < 0 else axis, call.table.arithmetic
    return arithmetic.mul(*sizes[:at]), arithmetic.mul(*sizes[at:])


def _flatten_view(call: Call) -> ProofValue | None:
    """Return the result of a Flatten that only adds or drops unit axes: operand 0 with another map.

    Else return None.
    """
    axis = call.integer("axis", 1)
    if call.views[0] is None or axis < call.lowest_axis(_MOST_AXES):
        return None
    return views.flattened(call.views[0], axis)


# --- DepthToSpace, SpaceToDepth -------------------------------------------------------------------------------------


def depth_to_space(call: Call, sizes: Sizes | None) -> Dims:
    """Return the shape of data[batch,channels,rows,columns] after channels are moved into blocks of rows and columns.

    With blocks of 2 by 2: [1,8,3,5] -> [1,2,6,10]. `sizes` is the shape before.
    """
    arithmetic = call.table.arithmetic
    return _with_blocks(call, sizes, arithmetic.quotient, arithmetic.mul)


def space_to_depth(call: Call, sizes: Sizes | None) -> Dims:
    """Return the shape of data[batch,channels,rows,columns] after blocks of rows and columns are moved into channels.

    With blocks of 2 by 2: [1,2,6,10] -> [1,8,3,5]. `sizes` is the shape before.
    """
    arithmetic = call.table.arithmetic
    return _with_blocks(call, sizes, arithmetic.mul, arithmetic.quotient)


def _with_blocks(
    call: Call, sizes: Sizes | None, deep: Callable[[Size, int], Size | None], wide: Callable[[Size, int], Size | None]
) -> Dims:
    """Return the shape with the channels changed by `deep`, and rows and columns each changed by `wide`.

    `deep` gets the number of elements of a block, and `wide` the length of a block.
    """
    block = call.integer("blocksize", 0)
    if sizes is None or len(sizes) != PLANES or block < 1:
        return None
    return (sizes[0], deep(sizes[1], block**2), *(wide(size, block) for size in sizes[2:]))


OPERATORS: Operators = {
    "Reshape": Operator(sizes=_reshape_sizes, view=_reshape_view, fold=_reshape_fold),
    "Transpose": Operator(sizes=_transpose_sizes, view=_transpose_view, fold=_transpose_fold),
    "Squeeze": Operator(sizes=_squeeze_sizes, view=_squeeze_view),
    "Unsqueeze": Operator(sizes=_unsqueeze_sizes, view=_unsqueeze_view),
    "Flatten": Operator(sizes=_flatten_sizes, view=_flatten_view),
    "DepthToSpace": Operator(sizes=lambda call: depth_to_space(call, call.sizes(0))),
    "SpaceToDepth": Operator(sizes=lambda call: space_to_depth(call, call.sizes(0))),
}

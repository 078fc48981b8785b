"""Rules for operators that select elements by index or by value: Gather, GatherND, OneHot, TopK, Compress, NonZero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphfix.checker.proof.core.terms import integer_type
from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.onnx.operators.entry import Operator, allowed_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.checker.proof.core.sizes import Dims
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.onnx.operators.entry import Operators
    from graphfix.checker.proof.onnx.reading.operands import Call


def _gather_sizes(call: Call) -> Dims:
    """Return the dims of a Gather: the axes of the indices replace `axis`.

    Data [4,5,6], indices [2,3], axis 1: [4,2,3,6].

    Return None if a shape is unknown, the data is a scalar, or the axis is out of range.
    """
    data, indices, axis = call.sizes(0), call.sizes(1), call.integer("axis", 0)
    if not data or indices is None or not -len(data) <= axis < len(data):
        return None
    axis %= len(data)
    return (*data[:axis], *indices, *data[axis + 1 :])


def _gather_view(call: Call) -> ProofValue | None:
    """Return the integers that a Gather selects from a vector of known integers.

    Return None for any other data, and for an index that is unknown or invalid.
    """
    content, indices = call.content(0), call.content(1)
    view = call.views[0]
    dtype = integer_type(view) if view is not None else None
    if content is None or indices is None or dtype is None or call.rank(0) != 1 or call.rank(1) not in (0, 1):
        return None
    if call.integer("axis", 0) not in (0, call.lowest_axis(1)):
        return None
    picked = []
    for index in indices:
        if not isinstance(index, int) or not call.lowest_axis(len(content)) <= index < len(content):
            return None
        picked.append(content[index])
    return call.table.integers(tuple(picked), dtype, scalar=call.rank(1) == 0)


def _gather_fold(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    """Compute a Gather of constants.

    Return None if the result is large, or if the operator set does not allow the axis or an index.
    """
    data, indices = arrays
    axis = None if data is None else allowed_axis(call, 0, data.ndim)
    if data is None or indices is None or axis is None:
        return None
    if data.size // max(data.shape[axis], 1) * indices.size > constant_folding.MOST:
        return None
    if indices.size and indices.min() < call.lowest_axis(data.shape[axis]):
        return None
    return np.take(data, indices.astype(np.int64), axis=axis)


def _gather_nd_sizes(call: Call) -> Dims:
    """Return the dims of a GatherND.

    The last axis of the indices contains coordinates, so its size must be a number.
    """
    data, indices, batch = call.sizes(0), call.sizes(1), call.integer("batch_dims", 0)
    if data is None or not indices or not isinstance(indices[-1], int):
        return None
    taken = batch + indices[-1]
    return (*indices[:-1], *data[taken:]) if 0 <= batch < len(indices) and 0 < taken <= len(data) else None


def _one_hot_sizes(call: Call) -> Dims:
    """Return the dims of a OneHot: a new axis of `depth` elements, where `depth` is operand 1."""
    sizes, axis, depth = call.sizes(0), call.integer("axis", -1), call.content(1)
    if not sizes or not -len(sizes) - 1 <= axis <= len(sizes):
        return None
    at = axis + len(sizes) + 1 if axis < 0 else axis
    return (*sizes[:at], depth[0] if depth is not None and len(depth) == 1 else None, *sizes[at:])


def _top_k_sizes(call: Call, _: int) -> Dims:
    """Return the dims of either result of a TopK: the axis has k elements, where k is operand 1."""
    sizes, axis, count = call.sizes(0), call.integer("axis", -1), call.int64_vector(1)
    if not sizes or not -len(sizes) <= axis < len(sizes):
        return None
    axis %= len(sizes)
    return (*sizes[:axis], count[0] if count is not None and len(count) == 1 else None, *sizes[axis + 1 :])


def _compress_sizes(call: Call) -> Dims:
    """Return the dims of a Compress: the length of the compressed axis is unknown.

    Without `axis` it returns a vector.
    """
    if "axis" not in call.attributes:
        return (None,)
    sizes, axis = call.sizes(0), call.attributes["axis"].i
    if sizes is None or not -len(sizes) <= axis < len(sizes):
        return None
    return tuple(None if at == axis % len(sizes) else size for at, size in enumerate(sizes))


def _non_zero_fold(_: Call, arrays: Sequence[Array | None]) -> Array | None:
    """Compute a NonZero of a constant: the indices of elements other than 0, as int64."""
    return None if arrays[0] is None else np.array(np.nonzero(arrays[0]), np.int64)


OPERATORS: Operators = {
    "Gather": Operator(sizes=_gather_sizes, view=_gather_view, fold=_gather_fold),
    "GatherND": Operator(sizes=_gather_nd_sizes),
    "GatherElements": Operator(sizes=lambda call: call.sizes(1)),
    "OneHot": Operator(sizes=_one_hot_sizes),
    "TopK": Operator(each_size=_top_k_sizes),
    "Compress": Operator(sizes=_compress_sizes),
    # Both sizes are unknown for a scalar, because runtimes disagree on them.
    "NonZero": Operator(sizes=lambda call: (call.rank(0) or None, None), fold=_non_zero_fold),
}

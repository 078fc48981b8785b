"""Rules of GATHER and similar operators: they select elements or rows by index, or return indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.tflite.operators.entry import Folding, Integers, Rules, asked_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.proof.core.sizes import Dims
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.tflite.reading.operands import Call


def _gather_sizes(call: Call) -> Dims:
    """Return the sizes of a GATHER: the axis of operand 0 is replaced by the axes of the indices."""
    data, indices, axis, batch = call.sizes(0), call.sizes(1), call.integer("axis"), call.integer("batchDims")
    if not data or indices is None or not -len(data) <= axis < len(data) or not 0 <= batch <= len(indices):
        return None
    axis %= len(data)
    return (*data[:axis], *indices[batch:], *data[axis + 1 :])


def _gather_integers(call: Call) -> ProofValue | None:
    """Return the elements that a GATHER selects from a vector of known integers."""
    content, indices, picks = call.content(0), call.known_integers(1), call.operand(1)
    if content is None or indices is None or picks is None or call.integer("axis") or call.integer("batchDims"):
        return None
    if call.views[0] is None or call.views[0].sizes == () or not all(0 <= index < len(content) for index in indices):
        return None
    return call.result_integers(tuple(content[index] for index in indices), scalar=picks.sizes == ())


def _gather_folded(call: Call, arrays: Sequence[Array]) -> Array | None:
    """Return the elements that a GATHER selects from a constant.

    Returns None for negative indices, for batch axes, and for a result that is too large.
    """
    data, indices = arrays
    axis = call.integer("axis")
    if call.integer("batchDims") or (indices < 0).any():
        return None
    if data.size // max(data.shape[axis], 1) * indices.size > constant_folding.MOST:
        return None
    return np.asarray(np.take(data, indices, axis=axis))


def _gather_nd(call: Call) -> Dims:
    """Return the sizes of a GATHER_ND.

    The last axis of the indices contains positions in the first axes of operand 0.
    """
    data, indices = call.sizes(0), call.sizes(1)
    if data is None or not indices or not isinstance(indices[-1], int) or not 0 < indices[-1] <= len(data):
        return None
    return (*indices[:-1], *data[indices[-1] :])


def _lookup(call: Call) -> Dims:
    """Return the sizes of an EMBEDDING_LOOKUP, which returns a row of operand 1 for each index in operand 0."""
    ids, rows = call.sizes(0), call.sizes(1)
    return None if ids is None or not rows or len(ids) != 1 else (ids[0], *rows[1:])


def _one_hot(call: Call) -> Dims:
    """Return the sizes of a ONE_HOT: those of the indices, with the number of classes inserted at the axis."""
    sizes, depth, axis = call.sizes(0), call.content(1), call.integer("axis")
    if sizes is None or depth is None or len(depth) != 1 or not -1 <= axis <= len(sizes):
        return None
    at = len(sizes) if axis == -1 else axis
    return (*sizes[:at], depth[0], *sizes[at:])


def _top(call: Call) -> Dims:
    """Return the sizes of a TOPK_V2: the last size of operand 0 is replaced by the number in operand 1."""
    sizes, count = call.sizes(0), call.content(1)
    return None if not sizes or count is None or len(count) != 1 else (*sizes[:-1], count[0])


def _arg(call: Call) -> Dims:
    """Return the sizes of an ARG_MAX or ARG_MIN: those of operand 0 without the axis."""
    sizes, axis = call.sizes(0), call.known_integers(1)
    if not sizes or axis is None or len(axis) != 1 or not -len(sizes) <= axis[0] < len(sizes):
        return None
    at = axis[0] % len(sizes)
    return (*sizes[:at], *sizes[at + 1 :])


def _diagonal(call: Call) -> Dims:
    """Return the sizes of a MATRIX_DIAG: the last size of operand 0 is repeated."""
    sizes = call.sizes(0)
    return None if not sizes else (*sizes, sizes[-1])


OPERATORS: Final[Mapping[str, Rules]] = {
    "GATHER": Rules(sizes=_gather_sizes, integers=Integers(_gather_integers), fold=Folding(_gather_folded, "indices")),
    "GATHER_ND": Rules(sizes=_gather_nd),
    "EMBEDDING_LOOKUP": Rules(sizes=_lookup),
    "SCATTER_ND": Rules(sizes=asked_sizes(2)),
    "ONE_HOT": Rules(sizes=_one_hot),
    "TOPK_V2": Rules(sizes=_top),
    "ARG_MAX": Rules(sizes=_arg),
    "ARG_MIN": Rules(sizes=_arg),
    "MATRIX_DIAG": Rules(sizes=_diagonal),
}

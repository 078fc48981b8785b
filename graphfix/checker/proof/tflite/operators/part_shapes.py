"""Sizes of TFLite results that are parts of operands, blocks of them, or picked from them.

Source: the Prepare functions of LiteRT's kernels, and what LiteRT returned for random sizes
(`tests/whole/test_random_shapes_tflite.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof.neutral import constant_folding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphfix.checker.proof.core.sizes import Dims, Size, Sizes
    from graphfix.checker.proof.tflite.reading.operands import Call

IMAGE = 4
"""Batch, height, width, channels."""
PLANE = 2
COUNTS = frozenset({"int32", "int64"})
"""The types of paddings, crops and blocks."""


def _split(call: Call) -> Dims:
    """Equal parts of operand 1 along the axis that operand 0 names."""
    sizes, axis, count = call.sizes(1), call.known_integers(0), call.integer("numSplits")
    if sizes is None or axis is None or len(axis) != 1 or not -len(sizes) <= axis[0] < len(sizes) or count < 1:
        return None
    at = axis[0] % len(sizes)
    return _with(sizes, at, call.table.arithmetic.quotient(sizes[at], count))


def _with(sizes: Sizes, axis: int, size: Size | None) -> Dims:
    return (*sizes[:axis], size, *sizes[axis + 1 :])


def _unpack(call: Call) -> Dims:
    sizes, axis = call.sizes(0), call.integer("axis")
    if sizes is None or not -len(sizes) <= axis < len(sizes):
        return None
    at = axis % len(sizes)
    return (*sizes[:at], *sizes[at + 1 :])


def _slice(call: Call) -> Dims:
    """From begin, as many as are asked for; -1 is all that are left."""
    sizes, begin, size = call.sizes(0), call.vector(1), call.vector(2)
    if sizes is None or begin is None or size is None or not len(sizes) == len(begin) == len(size):
        return None
    return tuple(_taken(call, *each) for each in zip(sizes, begin, size, strict=True))


def _taken(call: Call, size: Size, begin: Size, count: Size) -> Size | None:
    if count == -1:
        return call.table.arithmetic.sub(size, begin)
    return count if call.table.arithmetic.least(count) >= 0 else None


def _tile(call: Call) -> Dims:
    sizes, repeats = call.sizes(0), call.target(1)
    if sizes is None or repeats is None or len(sizes) != len(repeats):
        return None
    return tuple(map(call.table.arithmetic.mul, sizes, repeats))


def _top(call: Call) -> Dims:
    sizes, count = call.sizes(0), call.content(1)
    return None if not sizes or count is None or len(count) != 1 else (*sizes[:-1], count[0])


def _one_hot(call: Call) -> Dims:
    sizes, depth, axis = call.sizes(0), call.content(1), call.integer("axis")
    if sizes is None or depth is None or len(depth) != 1 or not -1 <= axis <= len(sizes):
        return None
    at = len(sizes) if axis == -1 else axis
    return (*sizes[:at], depth[0], *sizes[at:])


def _gather_nd(call: Call) -> Dims:
    data, indices = call.sizes(0), call.sizes(1)
    if data is None or not indices or not isinstance(indices[-1], int) or not 0 < indices[-1] <= len(data):
        return None
    return (*indices[:-1], *data[indices[-1] :])


def _lookup(call: Call) -> Dims:
    ids, rows = call.sizes(0), call.sizes(1)
    return None if ids is None or not rows or len(ids) != 1 else (ids[0], *rows[1:])


def _arg(call: Call) -> Dims:
    sizes, axis = call.sizes(0), call.known_integers(1)
    if not sizes or axis is None or len(axis) != 1 or not -len(sizes) <= axis[0] < len(sizes):
        return None
    at = axis[0] % len(sizes)
    return (*sizes[:at], *sizes[at + 1 :])


def _diagonal(call: Call) -> Dims:
    sizes = call.sizes(0)
    return None if not sizes else (*sizes, sizes[-1])


def _resized(call: Call) -> Dims:
    sizes, wanted = call.sizes(0), call.target(1)
    if sizes is None or len(sizes) != IMAGE:
        return None
    return (sizes[0], *(wanted if wanted is not None and len(wanted) == PLANE else (None, None)), sizes[3])


def _asked(index: int) -> Callable[[Call], Dims]:
    """Rule of an operator whose operand `index` is the result's shape."""

    def rule(call: Call) -> Dims:
        target = call.target(index)
        return None if target is None or any(isinstance(size, int) and size < 0 for size in target) else target

    return rule


def _blocks(*, to_space: bool) -> Callable[[Call], Dims]:
    """Rule of DEPTH_TO_SPACE, or of SPACE_TO_DEPTH: blocks of the plane are the depth."""

    def rule(call: Call) -> Dims:
        sizes, block = call.sizes(0), call.integer("blockSize")
        if sizes is None or len(sizes) != IMAGE or block < 1:
            return None
        arithmetic = call.table.arithmetic
        apart = arithmetic.mul, arithmetic.quotient
        plane, depth = apart if to_space else apart[::-1]
        return (sizes[0], *(plane(size, block) for size in sizes[1:3]), depth(sizes[3], block * block))

    return rule


def _space_to_batch(call: Call) -> Dims:
    """Padded axes behind the batch are cut into blocks, which go to the batch: they have to be divisible."""
    sizes, blocks, around = call.sizes(0), call.known_integers(1), pairs(call, 2)
    if sizes is None or not blocks or around is None or len(around) != len(blocks) or len(blocks) >= len(sizes):
        return None
    arithmetic, count = call.table.arithmetic, len(blocks)
    cut: list[Size | None] = []
    for size, block, pair in zip(sizes[1:], blocks, around, strict=False):
        padded = arithmetic.add(size, *pair)
        cut.append(None if padded is None or block < 1 else arithmetic.floordiv(padded, block))
    return (arithmetic.mul(sizes[0], *blocks), *cut, *sizes[1 + count :])


def _batch_to_space(call: Call) -> Dims:
    sizes, blocks, around = call.sizes(0), call.known_integers(1), pairs(call, 2)
    if sizes is None or not blocks or around is None or len(around) != len(blocks) or len(blocks) >= len(sizes):
        return None
    arithmetic, whole = call.table.arithmetic, 1
    grown: list[Size | None] = []
    for size, block, (front, behind) in zip(sizes[1:], blocks, around, strict=False):
        wide = arithmetic.mul(size, block)
        grown.append(None if wide is None else arithmetic.add(wide, -front, -behind))
        whole *= block
    return (arithmetic.quotient(sizes[0], whole), *grown, *sizes[1 + len(blocks) :])


def pairs(call: Call, index: int) -> list[tuple[int, int]] | None:
    """Return the rows of a constant [axes,2] of whole numbers; None for any other operand."""
    array = constant_folding.literal(call.operand(index))
    if array is None or array.ndim != PLANE or array.shape[1] != PLANE or array.dtype.name not in COUNTS:
        return None
    return [(int(front), int(behind)) for front, behind in array.tolist()]


def _segments(call: Call) -> Dims:
    """UNSORTED_SEGMENT_SUM and its like: as many rows as operand 2 holds, of the axes behind those of operand 1."""
    sizes, rows, count = call.sizes(0), call.sizes(1), call.content(2)
    if sizes is None or rows is None or len(rows) > len(sizes) or count is None or len(count) != 1:
        return None
    least = count[0] if isinstance(count[0], int) else call.table.arithmetic.least(count[0])
    return (count[0] if least >= 0 else None, *sizes[len(rows) :])


RULES: Mapping[str, Callable[[Call], Dims]] = {
    "SPLIT": _split, "UNPACK": _unpack, "SLICE": _slice, "TILE": _tile, "TOPK_V2": _top, "ONE_HOT": _one_hot,
    "GATHER_ND": _gather_nd, "EMBEDDING_LOOKUP": _lookup, "ARG_MAX": _arg, "ARG_MIN": _arg, "MATRIX_DIAG": _diagonal,
    **dict.fromkeys("RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR".split(), _resized),
    "DEPTH_TO_SPACE": _blocks(to_space=True), "SPACE_TO_DEPTH": _blocks(to_space=False),
    "SPACE_TO_BATCH_ND": _space_to_batch,
    "BATCH_TO_SPACE_ND": _batch_to_space, "FILL": _asked(0), "SCATTER_ND": _asked(2), "TRANSPOSE_CONV": _asked(0),
    "BROADCAST_TO": _asked(1),
    **{f"UNSORTED_SEGMENT_{how}": _segments for how in ("PROD", "SUM", "MAX", "MIN")},
}  # fmt: skip
"""Rules by operator; a size that is None is not known."""

"""Rules of SLICE, STRIDED_SLICE, SPLIT and SPLIT_V, which return parts of an operand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from graphfix.checker.proof.neutral.integer_values import cut_size
from graphfix.checker.proof.tflite.operators.entry import Folding, Integers, Rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.proof.core.sizes import Dims, Size
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.tflite.reading.operands import Call

_BOUNDS: Final = 3
"""The number of operands of a STRIDED_SLICE behind operand 0: begin, end and strides."""


# --- SLICE ------------------------------------------------------------------------------------------------------------


def _slice_sizes(call: Call) -> Dims:
    """Return the sizes of a SLICE. A requested size of -1 means the rest of the axis from the begin on."""
    sizes, begin, size = call.sizes(0), call.vector(1), call.vector(2)
    if sizes is None or begin is None or size is None or not len(sizes) == len(begin) == len(size):
        return None
    return tuple(_taken(call, *each) for each in zip(sizes, begin, size, strict=True))


def _taken(call: Call, size: Size, begin: Size, count: Size) -> Size | None:
    """Return the size of one axis after a SLICE; None if it is unknown."""
    if count == -1:
        return call.table.arithmetic.sub(size, begin)
    return count if call.table.arithmetic.least(count) >= 0 else None


def _slice_integers(call: Call) -> ProofValue | None:
    """Return the part that a SLICE cuts out of a vector of known integers."""
    content, begin, size = call.vector(0), call.known_integers(1), call.known_integers(2)
    kinds = {None if tensor is None else tensor.dtype for tensor in call.inputs[1:]}
    if call.vector(1) is None or call.vector(2) is None or len(kinds) != 1:
        return None
    if content is None or begin is None or size is None or len(begin) != 1 or len(size) != 1:
        return None
    if begin[0] < 0 or size[0] < -1:
        return None
    end = len(content) if size[0] < 0 else begin[0] + size[0]
    return call.result_integers(content[begin[0] : end]) if end <= len(content) else None


def _slice_folded(_: Call, arrays: Sequence[Array]) -> Array | None:
    """Return the part that a SLICE cuts out of a constant; None if the part does not lie inside the constant."""
    data, begin, size = arrays
    if not begin.shape == size.shape == (data.ndim,) or (begin < 0).any() or (size < -1).any():
        return None
    if (np.where(size < 0, begin, begin + size) > data.shape).any():
        return None  # The kernel refuses a slice that ends behind the operand, but numpy would shorten it.
    cuts = tuple(
        slice(start, None if count < 0 else start + count)
        for start, count in zip(begin.tolist(), size.tolist(), strict=True)
    )
    return data[cuts]


# --- STRIDED_SLICE ----------------------------------------------------------------------------------------------------


def _strided_sizes(call: Call) -> Dims:
    """Return the sizes of a STRIDED_SLICE. Axes behind those that have bounds are kept."""
    sizes = call.sizes(0)
    if sizes is None or call.integer("offset"):
        return None
    begin, end, stride = (_bounds(call, index) for index in (1, 2, 3))
    if 0 in stride or not 0 < len(begin) == len(end) == len(stride):
        return None
    places = _entries(call, len(sizes), len(begin))
    if places is None:
        return None
    dims: list[Size | None] = []
    for axis, at in places:
        if axis is None:
            dims.append(1)
        elif at is None:
            dims.append(sizes[axis])
        elif not call.integer("shrinkAxisMask") >> at & 1:
            dims.append(_left_by(call, at, sizes[axis], (begin[at], end[at], stride[at])))
    return tuple(dims)


def _left_by(call: Call, at: int, size: Size, bounds: tuple[Size | None, Size | None, Size | None]) -> Size | None:
    """Return the size of an axis after the cut with bounds at position `at`; None if it is unknown.

    `bounds` is (begin, end, stride). A begin or end that is disabled by a mask need not be known.
    """
    begin, end, stride = bounds
    is_open_end = [bool(call.integer(name) >> at & 1) for name in ("beginMask", "endMask")]
    if stride is None or (begin is None and not is_open_end[0]) or (end is None and not is_open_end[1]):
        return None
    return _cut(call, size, None if is_open_end[0] else begin, None if is_open_end[1] else end, stride)


def _bounds(call: Call, index: int) -> list[Size | None]:
    """Return the elements of a vector, with None for each unknown element; [] if its length is unknown."""
    bounds, sizes = call.vector(index), call.sizes(index)
    if bounds is not None:
        return list(bounds)
    return [None] * sizes[0] if sizes is not None and len(sizes) == 1 and isinstance(sizes[0], int) else []


def _entries(call: Call, rank: int, count: int) -> list[tuple[int | None, int | None]] | None:
    """Return, for each axis of the result before `shrinkAxisMask`, (axis of the operand, position in the bounds).

    The axis is None for a new axis. The position is None for an axis without bounds. Returns None for masks that LiteRT
    reads differently from numpy.
    """
    new, ellipsis = call.integer("newAxisMask"), call.integer("ellipsisMask")
    made = sum(new >> at & 1 for at in range(count) if not ellipsis >> at & 1)
    ellipsis_length = rank - (count - made - bool(ellipsis))
    if ellipsis_length < bool(ellipsis) or ellipsis & (ellipsis - 1) or ellipsis >> count:
        return None  # If an ellipsis stands for no axis, LiteRT treats it as one axis.
    found: list[tuple[int | None, int | None]] = []
    axis = 0
    for at in range(count):
        if ellipsis >> at & 1:
            found.extend((axis + each, None) for each in range(ellipsis_length))
            axis += ellipsis_length
        elif new >> at & 1:
            found.append((None, at))
        else:
            found.append((axis, at))
            axis += 1
    return found + [(each, None) for each in range(axis, rank)]


def _cut(call: Call, size: Size, first: Size | None, last: Size | None, stride: Size) -> Size | None:
    """Return the size of an axis after a cut, as numpy computes it. A bound of None is open."""
    bounds = (isinstance(first, int | None), isinstance(last, int | None), isinstance(stride, int))
    if isinstance(size, int) and all(bounds):
        return len(range(*slice(first, last, stride).indices(size)))
    return cut_size(call.table.arithmetic, size, 0 if first is None else first, size if last is None else last, stride)


def _strided_integers(call: Call) -> ProofValue | None:
    """Return the part that a STRIDED_SLICE cuts out of a vector of known integers."""
    content, parts = call.vector(0), [call.known_integers(index) for index in (1, 2, 3)]
    if content is None or any(call.vector(index) is None for index in (1, 2, 3)):
        return None
    if any(tensor is None or tensor.dtype != "int32" for tensor in call.inputs[1:4]):
        return None
    begin, end, stride = (part[0] if part is not None and len(part) == 1 else None for part in parts)
    if begin is None or end is None or stride is None or stride < 1:
        return None
    masks = [call.integer(name) for name in ("beginMask", "endMask", "shrinkAxisMask")]
    if call.integer("ellipsisMask") or call.integer("newAxisMask") or call.integer("offset") or max(masks) > 1:
        return None
    start = None if call.integer("beginMask") else begin
    if call.integer("shrinkAxisMask"):
        at = 0 if start is None else start
        return call.result_integers((content[at],), scalar=True) if -len(content) <= at < len(content) else None
    return call.result_integers(content[start : None if call.integer("endMask") else end : stride])


def _strided_folded(call: Call, arrays: Sequence[Array]) -> Array | None:
    """Return the part of a constant, by numpy's indexing. Masks open bounds, insert axes and drop axes."""
    data, *bounds = arrays
    if len(bounds) != _BOUNDS or any(each.ndim != 1 or each.dtype != np.int32 for each in bounds):
        return None
    begin, end, stride = (each.tolist() for each in bounds)
    places = _entries(call, data.ndim, len(begin))
    if places is None or not len(begin) == len(end) == len(stride) or 0 in stride or call.integer("offset"):
        return None
    first, last, shrunk = (call.integer(f"{name}Mask") for name in ("begin", "end", "shrinkAxis"))
    index: list[slice | int | None] = []
    for axis, at in places:
        if axis is None or at is None:
            index.append(None if axis is None else slice(None))
        elif shrunk >> at & 1:
            if first >> at & 1 or stride[at] != 1:
                return None
            index.append(begin[at])
        else:
            index.append(slice(None if first >> at & 1 else begin[at], None if last >> at & 1 else end[at], stride[at]))
    return data[tuple(index)]


# --- SPLIT and SPLIT_V ------------------------------------------------------------------------------------------------


def _split_sizes(call: Call) -> Dims:
    """Return the sizes of one of the equal parts of operand 1, along the axis in operand 0."""
    sizes, axis, count = call.sizes(1), call.known_integers(0), call.integer("numSplits")
    if sizes is None or axis is None or len(axis) != 1 or not -len(sizes) <= axis[0] < len(sizes) or count < 1:
        return None
    at = axis[0] % len(sizes)
    return (*sizes[:at], call.table.arithmetic.quotient(sizes[at], count), *sizes[at + 1 :])


def split_part(call: Call, count: int, place: int) -> ProofValue | None:
    """Return one part of known integers that SPLIT or SPLIT_V cuts; None if the part is unknown.

    `count` is the number of results, and `place` the number of this result.
    """
    split = call.operator.name == "SPLIT"
    data, axis = (1, 0) if split else (0, 2)
    if call.integer("numSplits") != count:
        return None
    content, tensor = call.vector(data), call.inputs[data] if data < len(call.inputs) else None
    if (
        content is None
        or tensor is None
        or tensor.dtype != call.result.dtype
        or call.known_integers(axis) not in ((0,), (-1,))
    ):
        return None
    sizes = _parts(len(content), (len(content) // count,) * count if split else call.known_integers(1))
    if len(sizes) != count:
        return None
    start = sum(sizes[:place])
    return call.result_integers(content[start : start + sizes[place]])


def _parts(total: int, given: Sequence[int] | None) -> Sequence[int]:
    """Return the lengths of the parts, of which one may be given as -1; () if they do not fit `total`."""
    rest = total - sum(size for size in given or () if size >= 0)
    sizes = [rest if size == -1 else size for size in given or ()]
    return sizes if sum(sizes) == total and min(sizes, default=0) >= 0 else ()


OPERATORS: Final[Mapping[str, Rules]] = {
    "SLICE": Rules(sizes=_slice_sizes, integers=Integers(_slice_integers), fold=Folding(_slice_folded, "indices")),
    "STRIDED_SLICE": Rules(sizes=_strided_sizes, integers=Integers(_strided_integers), fold=Folding(_strided_folded)),
    "SPLIT": Rules(sizes=_split_sizes),
}

"""Rules for the shapes of operators that move elements: Slice, Pad, Split, Tile, TopK and their like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof.core.sizes import numbers, result_sizes
from graphfix.checker.proof.neutral.integer_values import cut, cut_size
from graphfix.checker.proof.neutral.views import unit_axes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.core.sizes import Dims, Size, Sizes
    from graphfix.checker.proof.onnx.reading.operands import Call

PLANES = 4
"""The rank of operators on images: [batch, channels, rows, columns]."""
AXES_OF_PAD = 3
"""The operand of Pad that names the axes which are padded."""
COUNTED_PARTS = 18
"""From this version on Split is told its sizes or the number of its parts, and the last part may be smaller."""


def places(axes: Sequence[int] | None, rank: int) -> tuple[int, ...] | None:
    """Return axes counted from the front; None where one is out of range, or stands there twice."""
    if axes is None or not all(-rank <= axis < rank for axis in axes):
        return None
    found = tuple(axis % rank for axis in axes)
    return found if len(set(found)) == len(found) else None


def _free(rank: int | None) -> Dims:
    return None if rank is None else (None,) * rank


def _slice(call: Call) -> Dims:
    sizes = call.sizes(0)
    if sizes is None:
        return None
    starts, ends, axes, steps = (call.indices(at) for at in range(1, 5))
    count = len(starts or ends or ())
    at = places(range(count) if call.operand(3) is None else numbers(axes), len(sizes))
    if not at:
        return _free(len(sizes))
    by = (1,) * len(at) if call.operand(4) is None else steps
    if starts is None or ends is None or by is None or not len(at) == len(by) == len(starts) == len(ends):
        return tuple([None if axis in at else size for axis, size in enumerate(sizes)])  # only these axes are cut
    cuts = dict(zip(at, zip(starts, ends, by, strict=True), strict=True))
    return tuple(_cut(call, size, cuts[axis]) if axis in cuts else size for axis, size in enumerate(sizes))


def _cut(call: Call, size: Size, bounds: tuple[Size, Size, Size]) -> Size | None:
    known = numbers((size, *bounds))
    if known is None:
        return cut_size(call.table.arithmetic, size, *bounds)
    taken = cut(*known)
    return None if taken is None else len(taken)


def _pad(call: Call) -> Dims:
    sizes = call.sizes(0)
    if sizes is None:
        return None
    rank, pads = len(sizes), call.partial_vector(1)
    given = call.operand(AXES_OF_PAD)
    axes = places(range(rank) if given is None else numbers(call.indices(AXES_OF_PAD)), rank)
    if axes is None or pads is None or len(pads) != 2 * len(axes):
        return _free(rank)
    added = {axis: (pads[at], pads[at + len(axes)]) for at, axis in enumerate(axes)}
    return tuple(_padded(call, size, added.get(axis, (0, 0))) for axis, size in enumerate(sizes))


def _padded(call: Call, size: Size, pads: Sequence[Size | None]) -> Size | None:
    known = [pad for pad in pads if pad is not None]
    whole = call.table.arithmetic.add(size, *known) if len(known) == len(pads) else None
    return None if isinstance(whole, int) and whole < 0 else whole


def _split(call: Call, index: int) -> Dims:
    sizes, axis = call.sizes(0), call.integer("axis", 0)
    if sizes is None or not -len(sizes) <= axis < len(sizes):
        return None
    axis %= len(sizes)
    return (*sizes[:axis], _part(call, sizes[axis], index), *sizes[axis + 1 :])


def _part(call: Call, size: Size, index: int) -> Size | None:
    count = len(call.outputs)
    if call.operand(1) is not None:
        parts = call.vector(1)
        return parts[index] if parts is not None and len(parts) == count else None
    if call.version >= COUNTED_PARTS and call.integer("num_outputs", 0) != count:
        return None
    if isinstance(size, int):
        return equal_part(size, count, index)
    return call.table.arithmetic.quotient(size, count)


def equal_part(size: int, count: int, index: int) -> int | None:
    """Return the size of a part of an axis that is split evenly, but for the last part; None for more than it has."""
    most = -(-size // count)
    last = size - most * (count - 1)
    return None if last < 0 or count > size else last if index == count - 1 else most


def _squeeze(call: Call) -> Dims:
    sizes, axes = call.sizes(0), call.axes()
    if sizes is None:
        return None
    if "axes" not in call.attributes and call.operand(1) is None:
        units = unit_axes(call.table.arithmetic, sizes)
        return None if units is None else tuple(size for size in sizes if size != 1)
    gone = places(axes, len(sizes)) if axes else None
    return None if gone is None else tuple(size for axis, size in enumerate(sizes) if axis not in gone)


def _unsqueeze(call: Call) -> Dims:
    sizes, axes = call.sizes(0), call.axes()
    if sizes is None or axes is None:
        return None
    rank = len(sizes) + len(axes)
    new, old = places(axes, rank), iter(sizes)
    return None if new is None else tuple(1 if axis in new else next(old) for axis in range(rank))


def _flatten(call: Call) -> Dims:
    sizes, axis = call.sizes(0), call.integer("axis", 1)
    if sizes is None or not call.lowest(len(sizes)) <= axis <= len(sizes):
        return (None, None)
    at, arithmetic = axis + len(sizes) if axis < 0 else axis, call.table.arithmetic
    return arithmetic.mul(*sizes[:at]), arithmetic.mul(*sizes[at:])


def _tile(call: Call) -> Dims:
    sizes, repeats = call.sizes(0), call.partial_vector(1)
    if sizes is None or repeats is None or len(repeats) != len(sizes):
        return _free(call.rank(0))
    times = call.table.arithmetic.mul
    return tuple([None if count is None else times(size, count) for size, count in zip(sizes, repeats, strict=True)])


def _top(call: Call, _: int) -> Dims:
    sizes, axis, count = call.sizes(0), call.integer("axis", -1), call.vector(1)
    if not sizes or not -len(sizes) <= axis < len(sizes):
        return None
    axis %= len(sizes)
    return (*sizes[:axis], count[0] if count is not None and len(count) == 1 else None, *sizes[axis + 1 :])


def depth_to_space(call: Call, sizes: Sizes | None) -> Dims:
    """Return the shape of data[batch,channels,rows,columns] whose channels became blocks of rows and columns."""
    block = call.integer("blocksize", 0)
    if sizes is None or len(sizes) != PLANES or block < 1:
        return None
    channels, *plane = sizes[1:]
    arithmetic = call.table.arithmetic
    return (sizes[0], arithmetic.quotient(channels, block**2), *(arithmetic.mul(size, block) for size in plane))


def space_to_depth(call: Call, sizes: Sizes | None) -> Dims:
    """Return the shape of data[batch,channels,rows,columns] whose blocks of rows and columns became channels."""
    block = call.integer("blocksize", 0)
    if sizes is None or len(sizes) != PLANES or block < 1:
        return None
    channels, *plane = sizes[1:]
    arithmetic = call.table.arithmetic
    inner = [arithmetic.quotient(size, block) for size in plane]
    return (sizes[0], arithmetic.mul(channels, block**2), *inner)


def _one_hot(call: Call) -> Dims:
    sizes, axis, depth = call.sizes(0), call.integer("axis", -1), call.content(1)
    if not sizes or not -len(sizes) - 1 <= axis <= len(sizes):
        return None
    at = axis + len(sizes) + 1 if axis < 0 else axis
    return (*sizes[:at], depth[0] if depth is not None and len(depth) == 1 else None, *sizes[at:])


def _compress(call: Call) -> Dims:
    sizes, axis = call.sizes(0), call.integer("axis", 0)
    if "axis" not in call.attributes:
        return (None,)
    if sizes is None or not -len(sizes) <= axis < len(sizes):
        return None
    return tuple(None if at == axis % len(sizes) else size for at, size in enumerate(sizes))


def _dropout(call: Call, _: int) -> Dims:
    return call.sizes(0)


def _drawn(call: Call) -> Dims:
    """RandomNormal and RandomUniform: the shape is an attribute."""
    shape = call.integers("shape")
    return None if shape is None or min(shape, default=0) < 0 else shape


def _split_texts(call: Call, index: int) -> Dims:
    """StringSplit: parts of each text along a new last axis, and how many there are."""
    sizes = call.sizes(0)
    return None if sizes is None or index > 1 else sizes if index else (*sizes, None)


def _scalar(_: Call) -> Dims:
    return ()


def joined(call: Call, shapes: Sequence[Sizes | None]) -> Dims:
    """Join along an axis: onnxruntime skips operands without elements, whatever their other sizes are."""
    known = next((sizes for sizes in shapes if sizes is not None), None)
    axis = call.integer("axis", 1)
    if known is None or not -len(known) <= axis < len(known):
        return None
    given = [result_sizes(sizes) for sizes in shapes if sizes is not None]
    if any(len(sizes) != len(known) for sizes in given):
        return None
    if len(given) < len(shapes):
        return (None,) * len(known)
    axis %= len(known)
    filled = next((sizes for sizes in given if 0 not in (numbers(sizes) or (0,))), None)
    dims = [
        filled[at] if filled is not None else column[0] if len(set(column)) == 1 else None
        for at, column in enumerate(zip(*given, strict=True))
    ]
    lengths = [sizes[axis] for sizes in given]
    # one without elements is skipped: it has to be one by its own length, or all have none
    counted = numbers(lengths) is not None or None not in (*dims[:axis], *dims[axis + 1 :])
    return (*dims[:axis], call.table.arithmetic.add(*lengths) if counted else None, *dims[axis + 1 :])


RULES: Mapping[str, Callable[[Call], Dims]] = {
    "Slice": _slice, "Pad": _pad, "Squeeze": _squeeze, "Unsqueeze": _unsqueeze, "Flatten": _flatten, "Tile": _tile,
    "RandomNormal": _drawn, "RandomUniform": _drawn,
    "SequenceLength": _scalar, "OptionalHasElement": _scalar, "RegexFullMatch": lambda call: call.sizes(0),
    "DepthToSpace": lambda call: depth_to_space(call, call.sizes(0)),
    "SpaceToDepth": lambda call: space_to_depth(call, call.sizes(0)), "OneHot": _one_hot, "Compress": _compress,
}  # fmt: skip
SEVERAL: Mapping[str, Callable[[Call, int], Dims]] = {
    "Split": _split, "TopK": _top, "Dropout": _dropout, "StringSplit": _split_texts,
}  # fmt: skip

"""Data-movement operators of the proof: they change the indexing map of a value and compute nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof.core.sizes import Symbol, right_aligned
from graphfix.checker.proof.core.terms import ProofValue, shape_or_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphfix.checker.proof.core.arithmetic import Arithmetic
    from graphfix.checker.proof.core.sizes import Algebra, Size, Sizes
    from graphfix.checker.proof.core.terms import Extent


def unsqueezed(view: ProofValue, axes: Iterable[int]) -> ProofValue | None:
    """Return `view` with unit axes inserted at the positions `axes` of the result; negative ones count from its end.

    Return None if the rank is unknown, or if an axis is out of range or repeated.
    """
    if view.axes is None or view.sizes is None:
        return None
    given = list(axes)
    rank = len(view.axes) + len(given)
    new = {axis + rank if axis < 0 else axis for axis in given}
    if len(new) != len(given) or not all(0 <= axis < rank for axis in new):
        return None
    old = iter(zip(view.axes, view.sizes, strict=True))
    pairs: list[tuple[int | None, Size]] = [(None, 1) if axis in new else next(old) for axis in range(rank)]
    return _of(view, pairs)


def unit_axes(arithmetic: Arithmetic, sizes: Sizes | None) -> list[int] | None:
    """Return the axes of size 1. Return None if the rank is unknown, or if a size that is a symbol may be 1."""
    if sizes is None or any(not isinstance(size, int) and arithmetic.least_in_ranges(size) <= 1 for size in sizes):
        return None
    return [axis for axis, size in enumerate(sizes) if size == 1]


def squeezed(view: ProofValue, axes: Iterable[int]) -> ProofValue | None:
    """Return `view` without the axes `axes`; negative ones count from the end.

    Return None if the rank is unknown, if an axis is out of range, or if its size is not known to be 1.
    """
    if view.axes is None or view.sizes is None:
        return None
    rank = len(view.sizes)
    gone = {axis + rank if axis < 0 else axis for axis in axes}
    if not all(0 <= axis < rank and view.sizes[axis] == 1 for axis in gone):
        return None
    pairs = list(zip(view.axes, view.sizes, strict=True))
    return _of(view, [pair for axis, pair in enumerate(pairs) if axis not in gone])


def reshaped(view: ProofValue, target: Sizes, *, zero_copies: bool) -> ProofValue | None:
    """Return `view` with the shape `target` if the Reshape only adds or drops unit axes.

    Return None if the Reshape does more, or may do more for some sizes, or if the rank is unknown.

    If `zero_copies`, a 0 in the target means the operand's size at that position, as in ONNX with `allowzero` 0. A
    symbol in the target may be 0 at run time. It is then accepted only if the operand's size is the same symbol.
    """
    if view.axes is None or view.sizes is None:
        return None
    wanted: list[Size] = []
    for axis, size in enumerate(target):
        own = view.sizes[axis] if axis < len(view.sizes) else None
        if zero_copies and not (isinstance(size, int) and size) and size != own:
            if size != 0 or own is None:
                return None
            wanted.append(own)
        else:
            wanted.append(size)
    pairs = [pair for pair in zip(view.axes, view.sizes, strict=True) if pair[1] != 1]
    spread = _matched([size for _, size in pairs], wanted)
    if spread is None:
        return None
    old = iter(pairs)
    return _of(view, [next(old) if follows else (None, 1) for follows in spread])


def _matched(sizes: Sequence[Size], wanted: Sequence[Size]) -> list[bool] | None:
    """Return for each wanted size whether it is the next one of `sizes` (True) or a unit axis (False).

    `sizes` contains no 1, and `wanted` may contain one -1. Return None if the sizes do not match in order.
    """
    if -1 in wanted:
        at = wanted.index(-1)
        others = [size for axis, size in enumerate(wanted) if axis != at]
        if not all(isinstance(size, int) and size > 0 for size in others):
            return None  # beside a size of 0, the size for -1 is ambiguous
        front = sum(size != 1 for size in wanted[:at])
        behind = len(sizes) - front - sum(size != 1 for size in wanted[at + 1 :])
        if behind not in (0, 1):
            return None
        wanted = [*wanted[:at], sizes[front] if behind else 1, *wanted[at + 1 :]]
    kept = [size for size in wanted if size != 1]
    if kept != list(sizes):
        return None
    return [size != 1 for size in wanted]


def flattened(view: ProofValue, axis: int) -> ProofValue | None:
    """Return `view` flattened to two axes.

    `axis` is the first axis of the second group. A negative one counts from the end.

    Return None if a group has more than one axis of a size other than 1, if `axis` is out of range, or if the rank is
    unknown.
    """
    if view.axes is None or view.sizes is None:
        return None
    rank = len(view.sizes)
    at = axis + rank if axis < 0 else axis
    pairs = list(zip(view.axes, view.sizes, strict=True))
    sides = [[pair for pair in side if pair[1] != 1] for side in (pairs[:at], pairs[at:])]
    if any(len(side) > 1 for side in sides) or not 0 <= at <= rank:
        return None
    return _of(view, [side[0] if side else (None, 1) for side in sides])


def expanded(algebra: Algebra, view: ProofValue, target: Sizes) -> ProofValue | None:
    """Return `view` broadcast with the shape `target` both ways, as ONNX's Expand does: `[4,1] and [3] -> [4,3]`.

    Return None if the rank is unknown or the target has a negative size.
    """
    if view.axes is None or view.sizes is None or any(isinstance(size, int) and size < 0 for size in target):
        return None
    sizes = algebra.broadcast_shape(view.sizes, target)
    return ProofValue(view.core, (None,) * (len(sizes) - len(view.axes)) + view.axes, sizes)


def expanded_by(view: ProofValue, shape: frozenset[Extent]) -> ProofValue:
    """Return `view` broadcast with shapes of which one has an unknown rank: the result keeps the set of shapes."""
    return ProofValue(view.core, view.axes, None, (view.broadcast_shapes or frozenset((shape_or_value(view),))) | shape)


def broadcast_to(algebra: Algebra, view: ProofValue, target: Sizes) -> ProofValue | None:
    """Return `view` stretched to exactly `target`, as TFLite's BROADCAST_TO does; None if the operand may not fit.

    The operand fits if each size of the target is the broadcast of itself and the operand's size, or a number other
    than 1. For such a number, one-way and two-way broadcasting require the same of the operand.
    """
    if view.axes is None or view.sizes is None or len(target) < len(view.sizes):
        return None
    sizes = []
    for size, to in zip(right_aligned(view.sizes, len(target)), target, strict=True):
        both = algebra.broadcast_size((size, to))
        if (isinstance(to, int) and (to < 0 or to == 1 != size)) or (isinstance(to, Symbol) and both is not to):
            return None
        sizes.append(both)
    return ProofValue(view.core, (None,) * (len(target) - len(view.axes)) + view.axes, tuple(sizes))


def tiled(view: ProofValue, repeats: Sizes) -> ProofValue | None:
    """Return `view` with axes of size 1 repeated; `repeats` contains a count for each axis.

    Return None if the rank is unknown or not the length of `repeats`, if a count is negative, or if an axis that may
    have several elements is repeated.
    """
    if view.axes is None or view.sizes is None or len(repeats) != len(view.sizes):
        return None
    if not all(size == 1 or count == 1 for size, count in zip(view.sizes, repeats, strict=True)):
        return None
    if any(isinstance(count, int) and count < 0 for count in repeats):
        return None
    sizes = tuple(count if size == 1 else size for size, count in zip(view.sizes, repeats, strict=True))
    return ProofValue(view.core, view.axes, sizes)


def _of(view: ProofValue, pairs: Sequence[tuple[int | None, Size]]) -> ProofValue:
    """Return a value of the same core; `pairs` contains for each axis the core's axis (or None) and the size."""
    return ProofValue(view.core, tuple(axis for axis, _ in pairs), tuple(size for _, size in pairs))

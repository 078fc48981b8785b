"""Axes along which each element is repeated several times in a row, as in upsampling by nearest neighbours.

Several operators of a file can express such a repetition. All of them become one term here.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import ProofValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.checker.proof.core.terms import Core, TermTable

LONGEST = 1 << 20
"""Sizes must be below this.

Up to it, a coordinate that is computed in float32 selects the same element as in integers.
"""


def repeated(table: TermTable, view: ProofValue, factors: Sequence[int], description: str) -> ProofValue | None:
    """Return a value whose element i of each axis is the element `i // factor` of the same axis of `view`.

    Return None if a size is not a number, if a size would reach LONGEST, or if the maps do not allow it. An axis that
    follows no axis of the core only changes its size. If an axis is already repeated, the factors are multiplied,
    because (i // a) // b is i // (a * b).
    """
    sizes, times = numbers(view.sizes), _times(view, factors)
    if sizes is None or times is None:
        return None
    wanted = tuple(size * factor for size, factor in zip(sizes, factors, strict=True))
    if max(wanted, default=0) >= LONGEST:
        return None
    core, _ = _base(view.core)
    if all(time == 1 for time in times):
        return ProofValue(core, view.axes, wanted)
    made, new = table.find_or_create_core(("repeat", core, times), description, counted=False)
    if new:
        pairs = zip(core.sizes or (), times, strict=True)
        made.sizes = tuple(size * time if isinstance(size, int) else size for size, time in pairs)
    return ProofValue(made, view.axes, wanted)


def _times(view: ProofValue, factors: Sequence[int]) -> tuple[int, ...] | None:
    """Return for each axis of the base core how often it is repeated in all, after repeating the value by `factors`.

    Return None if the map or a shape is unknown, if two axes follow one axis, or if an axis to be repeated has another
    size than the core's axis.
    """
    core, before = _base(view.core)
    followed = [axis for axis in view.axes or () if axis is not None]
    if core.sizes is None or view.axes is None or view.sizes is None or len(set(followed)) < len(followed):
        return None
    times = list(before or (1,) * len(core.sizes))
    for axis, size, factor in zip(view.axes, view.sizes, factors, strict=True):
        if axis is not None and factor != 1:
            if view.core.sizes is None or view.core.sizes[axis] != size:
                return None
            times[axis] *= factor
    return tuple(times)


def _base(core: Core) -> tuple[Core, tuple[int, ...]]:
    """Return the core that a repetition repeats, with the factors so far.

    A core that is no repetition returns itself and ().
    """
    if core.key[0] != "repeat":
        return core, ()
    return core.key[1], core.key[2]  # type: ignore[return-value]  # `repeated` makes this key


def merged(table: TermTable, view: ProofValue, target: Sequence[int], description: str) -> ProofValue | None:
    """Return `view` reshaped to `target` if the Reshape only joins repeated axes to the axis in front of them.

    For example, [4,3] that repeats a core of 4 elements along axis 1 becomes [12], in which each element occurs three
    times in a row. Unit axes may be added or dropped. Return None if the Reshape does more, if a size is not a number,
    or if there are no elements.
    """
    sizes = numbers(view.sizes)
    if sizes is None or view.axes is None or 0 in sizes or prod(sizes) != prod(target):
        return None
    pairs = [pair for pair in zip(view.axes, sizes, strict=True) if pair[1] != 1]
    kept: list[tuple[int | None, int]] = []
    factors: list[int] = []
    for size in target:
        group = _taken(pairs, size)
        if group is None:
            return None
        axis, own = group[0] if group else (None, 1)
        kept.append((axis, own))
        factors.append(size // own)
    inner = ProofValue(view.core, tuple(axis for axis, _ in kept), tuple(size for _, size in kept))
    return repeated(table, inner, factors, description)


def _taken(pairs: list[tuple[int | None, int]], size: int) -> list[tuple[int | None, int]] | None:
    """Remove axes from the front of `pairs` until their sizes multiply to `size`, and return them.

    Each pair is the core's axis (or None) and the size. Return None if no product is `size`, or if any axis but the
    first follows an axis of the core.
    """
    group: list[tuple[int | None, int]] = []
    while prod(each for _, each in group) < size and pairs:
        group.append(pairs.pop(0))
    fits = prod(each for _, each in group) == size and all(axis is None for axis, _ in group[1:])
    return group if fits else None

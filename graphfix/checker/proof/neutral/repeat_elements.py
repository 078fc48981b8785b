"""Axes along which each element stands several times in a row: enlarging by nearest elements, however it is said."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.checker.proof.core.terms import Core, TermTable

LONGEST = 1 << 20
"""Sizes below: coordinates that are computed in float32 fall where they fall in whole numbers."""


def repeated(table: TermTable, view: View, factors: Sequence[int], description: str) -> View | None:
    """Let element i of each axis be what element `i // factor` was; sizes must be numbers.

    An axis that follows none stays so. Of an axis that is repeated already the factors are one: (i // a) // b is
    i // (a * b).
    """
    sizes, times = numbers(view.sizes), _times(view, factors)
    if sizes is None or times is None:
        return None
    wanted = tuple(size * factor for size, factor in zip(sizes, factors, strict=True))
    if max(wanted, default=0) >= LONGEST:
        return None
    core, _ = _base(view.core)
    if all(time == 1 for time in times):
        return View(core, view.axes, wanted)
    made, new = table.core(("repeat", core, times), description, counted=False)
    if new:
        pairs = zip(core.sizes or (), times, strict=True)
        made.sizes = tuple(size * time if isinstance(size, int) else size for size, time in pairs)
    return View(made, view.axes, wanted)


def _times(view: View, factors: Sequence[int]) -> tuple[int, ...] | None:
    """Return for each axis of what is repeated how often it is in all."""
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
    """Return what is repeated, and how often so far."""
    if core.key[0] != "repeat":
        return core, ()
    return core.key[1], core.key[2]  # type: ignore[return-value]  # what `repeated` put there


def merged(table: TermTable, view: View, target: Sequence[int], description: str) -> View | None:
    """Reshape where axes that follow none are joined to the one in front of them; None where it does more."""
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
    inner = View(view.core, tuple(axis for axis, _ in kept), tuple(size for _, size in kept))
    return repeated(table, inner, factors, description)


def _taken(pairs: list[tuple[int | None, int]], size: int) -> list[tuple[int | None, int]] | None:
    """Take axes off the front until their sizes make up `size`: behind the first only such as follow none."""
    group: list[tuple[int | None, int]] = []
    while prod(each for _, each in group) < size and pairs:
        group.append(pairs.pop(0))
    fits = prod(each for _, each in group) == size and all(axis is None for axis, _ in group[1:])
    return group if fits else None

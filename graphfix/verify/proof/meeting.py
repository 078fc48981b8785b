"""How broadcasting operators read their operands: maps over one iteration space, in a normal form."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from graphfix.verify.proof.sizes import right_aligned, settled
from graphfix.verify.proof.terms import Frame, View, composed, extent, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.verify.proof.sizes import Sizes
    from graphfix.verify.proof.terms import Axes, Core, Extent, Table

Key: TypeAlias = tuple[object, ...]
_STATED = frozenset({"constant", "empty", "numbers"})
"""The terms of constants: their element type comes next in the key."""


def elementwise(table: Table, key: Key, views: Sequence[View], told: str) -> View:
    """Give the result of an operator that reads one element of each operand for each point, right-aligned.

    The term holds the map of each operand's core and the sizes of the space, for those axes only that some operand
    follows; the others are axes of the result's map. So lifting or stretching all operands is lifting or stretching
    the result.
    """
    form = tuple((view.axes, view.sizes) for view in views)
    frame = table.frames.get(form)
    if frame is None:
        if any(axes is None or sizes is None for axes, sizes in form):
            return _unranked(table, key, views, told)
        frame = table.frames[form] = _right_aligned(table, form)
    if 0 in frame.sizes and any(view.core.key[0] in _STATED for view in views):
        return elementwise(table, key, [_unread(table, view) for view in views], told)
    return _read(table, key, [view.core for view in views], frame, told)


def _unread(table: Table, view: View) -> View:
    """Forget what a constant holds where a space has no point: one that was written out for it has no bytes."""
    if view.core.key[0] not in _STATED:
        return view
    core, new = table.core(("unread", view.core.key[1]), "a constant that is not read", counted=False)
    if new:
        core.sizes = ()
    return View(core, (None,) * len(view.axes or ()), view.sizes)


def aligned(table: Table, key: Key, uses: Sequence[tuple[Core, Axes]], space: Sizes, told: str) -> View:
    """Give the result over a space whose axes the operands' axes follow as their maps say."""
    return _read(table, key, [core for core, _ in uses], _frame([axes for _, axes in uses], space), told)


def _right_aligned(table: Table, form: Sequence[tuple[Axes | None, Sizes | None]]) -> Frame:
    shapes = [(axes or (), sizes or ()) for axes, sizes in form]
    rank = max((len(axes) for axes, _ in shapes), default=0)
    maps = [(None,) * (rank - len(axes)) + axes for axes, _ in shapes]
    columns = zip(*(right_aligned(sizes, rank) for _, sizes in shapes), strict=True)
    return _frame(maps, tuple(map(table.algebra.met, columns)))


def _frame(maps: Sequence[Axes], space: Sizes) -> Frame:
    """Keep of a space the axes that some operand follows; the others are axes of the result's map alone."""
    followed = [axis for axis in range(len(space)) if any(axes[axis] is not None for axes in maps)]
    places = {axis: place for place, axis in enumerate(followed)}
    return Frame(
        tuple(tuple(axes[axis] for axis in followed) for axes in maps),
        tuple(space[axis] for axis in followed),
        tuple(places.get(axis) for axis in range(len(space))),
        # An axis that none follows is stretched by nothing but its readers: they see what has to fit in it.
        tuple(settled(size) if axis in places else size for axis, size in enumerate(space)),
    )


def _read(table: Table, key: Key, cores: Sequence[Core], frame: Frame, told: str) -> View:
    core, new = table.core(("each", key, *cores, frame.maps, frame.space), told)
    if new:
        core.sizes = tuple(map(settled, frame.space))
    return View(core, frame.axes, frame.sizes)


def unary(table: Table, key: Key, view: View, told: str) -> View:
    """Give the result of an elementwise operator of one operand: its map is the operand's own."""
    return composed(view, elementwise(table, key, [whole(view.core)], told))


def _unranked(table: Table, key: Key, views: Sequence[View], told: str) -> View:
    """Some rank is not known: the space is the set of all shapes that meet, and every map is right-aligned.

    A value of known rank takes part with its map, unit axes in front left out; so a stretch by another operand's
    shape adds nothing to the set.
    """
    meeting: set[Extent] = set()
    reads: list[tuple[object, ...]] = []
    for view in views:
        meeting |= view.more or {extent(view)}
        reads.append((view.core, _stripped(view)))
    core, _ = table.core(("each", key, tuple(reads), *_space(table, meeting)), told)
    return View(core, None, None)


def _space(table: Table, meeting: set[Extent]) -> tuple[frozenset[Extent], Sizes]:
    """Keep values of unknown rank by name, and put all known shapes into one."""
    known = [sizes for sizes in meeting if not isinstance(sizes, View)]
    rank = max(map(len, known), default=0)
    columns = zip(*(right_aligned(sizes, rank) for sizes in known), strict=True)
    return frozenset(sizes for sizes in meeting if isinstance(sizes, View)), tuple(map(table.algebra.met, columns))


def _stripped(view: View) -> Axes | None:
    if view.axes is None:
        return None
    front = next((place for place, axis in enumerate(view.axes) if axis is not None), len(view.axes))
    return view.axes[front:]


def onto(table: Table, key: Key, view: View, others: Sequence[View], told: str) -> View:
    """Give the result of an operator whose operand 0 is read exactly and has the result's shape, the others onto it."""
    if view.sizes is None or any(other.sizes is None or len(other.sizes) > len(view.sizes) for other in others):
        return table.result(("whole", *key, (view, *others)), told, view.sizes)
    reads = tuple((other.core, _over(other, len(view.sizes))) for other in others)
    spaces = tuple(
        tuple(
            table.algebra.met(pair)
            for pair in zip(view.sizes, right_aligned(other.sizes or (), len(view.sizes)), strict=True)
        )
        for other in others
    )
    return table.result(("onto", *key, view, reads, spaces), told, view.sizes)


def _over(view: View, rank: int) -> Axes:
    axes = view.axes or ()
    return (None,) * (rank - len(axes)) + axes


def product(
    table: Table,
    key: Key,
    pair: tuple[View, View],
    others: Sequence[View],
    told: str,
    *,
    outer: tuple[int, int] = (-2, -1),
) -> View:
    """Give the product of two stacks of matrices: batch axes meet, the last two of each are read exactly.

    `outer` names the axis of each operand that stays in the result. Operands of rank 1 are promoted, and read exactly.
    """
    one, two = pair
    if one.sizes is None or two.sizes is None or min(len(one.sizes), len(two.sizes)) < 2:  # noqa: PLR2004 - a matrix
        return table.result(("whole", *key, (one, two, *others)), told, _promoted(one, two))
    rank = max(len(one.sizes), len(two.sizes))
    batch = tuple(
        map(
            table.algebra.met,
            zip(right_aligned(one.sizes[:-2], rank - 2), right_aligned(two.sizes[:-2], rank - 2), strict=True),
        )
    )
    if 0 in batch:
        pair = _unread(table, one), _unread(table, two)
    reads = tuple((view.core, _over(view, rank), (view.sizes or ())[-2:]) for view in pair)
    term = ("product", *key, reads, batch, tuple(others))
    return table.result(term, told, (*batch, one.sizes[outer[0]], two.sizes[outer[1]]))


def _promoted(one: View, two: View) -> Sizes | None:
    """The result's shape where an operand is a vector: its axis is put in front or behind, and taken out again."""
    if one.sizes is None or two.sizes is None or not one.sizes or not two.sizes:
        return None
    batch = one.sizes[:-2] if len(two.sizes) == 1 else two.sizes[:-2]
    rows = one.sizes[-2:-1] if len(one.sizes) > 1 else ()
    columns = two.sizes[-1:] if len(two.sizes) > 1 else ()
    return (*batch, *rows, *columns)

"""How broadcasting operators read their operands: indexing maps over one iteration space, in a normal form."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from graphfix.checker.proof.core.iteration_space import BroadcastSpace, LoopNest
from graphfix.checker.proof.core.sizes import result_size, right_aligned
from graphfix.checker.proof.core.terms import CONSTANTS, ProofValue, compose_maps, shape_or_value, value_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from graphfix.checker.proof.core.iteration_space import Axes
    from graphfix.checker.proof.core.sizes import Dims, Sizes
    from graphfix.checker.proof.core.terms import Core, Extent, TermTable

Key: TypeAlias = tuple[object, ...]
Broadcast: TypeAlias = "tuple[tuple[Core, ...], tuple[Axes, ...], Sizes]"
"""The cores of the operands, their maps, and the iteration space."""

MATRIX = 2
PRODUCT_AXES = 3
"""The last three axes of a matrix product's iteration space: rows, columns, and the summed axis."""
EACH = "each"
"""The first part of the key of an elementwise operator's term. Its `LoopNest` comes next, then the cores it reads."""
BROADCASTING = frozenset({EACH, "onto", "product", "gemm"})
"""The first part of the key of terms whose operands are broadcast."""


def broadcast_of(core: Core) -> Broadcast | None:
    """Return the operands' cores, the maps and the space if a core's operator broadcasts; None for any other core."""
    nest = core.key[1]
    if core.key[0] == EACH and isinstance(nest, LoopNest):
        return core.key[2:], nest.maps, nest.space  # type: ignore[return-value]  # `_read` makes this key
    return core.key[-3:] if core.key[0] in BROADCASTING else None  # type: ignore[return-value]  # a key may contain any object


def elementwise(table: TermTable, key: Key, views: Sequence[ProofValue], description: str) -> ProofValue:
    """Return the result of an operator that computes each element from one element of each operand, right-aligned.

    `key` is the operator with its attributes, and `views` are the operands. The term contains the operands' cores with
    their maps, and the sizes of the space, but only for axes that some operand follows. The other axes belong to the
    result's own map. Lifting or stretching all operands therefore lifts or stretches the result. If a rank is unknown,
    the result has an unknown rank.
    """
    form = tuple([(view.axes, view.sizes) for view in views])
    memo_key = (table.algebra.place, form)
    frame = table.broadcast_spaces.get(memo_key)
    if frame is None:
        if any(axes is None or sizes is None for axes, sizes in form):
            return _unranked(table, key, views, description)
        frame = table.broadcast_spaces[memo_key] = _right_aligned(table, form)
    if 0 in frame.sizes and any(view.core.key[0] in CONSTANTS for view in views):
        return elementwise(table, key, [_without_elements(table, view) for view in views], description)
    return _read(table, key, [view.core for view in views], frame, description)


def common_broadcast(table: TermTable, one: ProofValue, two: ProofValue) -> ProofValue | None:
    """Return the broadcast of two operands if both have the same element at each point; None if that is not known."""
    if one == two:
        return one
    if one.core is not two.core or one.axes is None or two.axes is None or one.sizes is None or two.sizes is None:
        return None
    frame = _right_aligned(table, [(view.axes, view.sizes) for view in (one, two)])
    if frame.maps[0] != frame.maps[1]:
        return None
    return ProofValue(
        one.core, tuple(None if place is None else frame.maps[0][place] for place in frame.axes), frame.sizes
    )


def _without_elements(table: TermTable, view: ProofValue) -> ProofValue:
    """Return an empty constant of the same type and sizes for a constant; return any other value unchanged.

    This is for an iteration space without points, where no element of the constant is read.
    """
    if view.core.key[0] not in CONSTANTS or view.sizes is None:
        return view
    kind = view.core.key[1]
    return table.empty(str(kind[0] if isinstance(kind, tuple) else kind), view.sizes)


def aligned(
    table: TermTable, key: Key, uses: Sequence[tuple[Core, Axes]], space: Sizes, description: str
) -> ProofValue:
    """Return the result of an elementwise operator over `space`.

    Each operand is a core with its map over that space.
    """
    return _read(table, key, [core for core, _ in uses], _frame([axes for _, axes in uses], space), description)


def _right_aligned(table: TermTable, form: Sequence[tuple[Axes | None, Sizes | None]]) -> BroadcastSpace:
    """Return how operands, each a map and sizes, are broadcast together by numpy's rule."""
    shapes = [(axes or (), sizes or ()) for axes, sizes in form]
    rank = max((len(axes) for axes, _ in shapes), default=0)
    maps = [(None,) * (rank - len(axes)) + axes for axes, _ in shapes]
    return _frame(maps, table.algebra.broadcast_shape(*(sizes for _, sizes in shapes)))


def _frame(maps: Sequence[Axes], space: Sizes) -> BroadcastSpace:
    """Return how operands with these maps over `space` are broadcast together.

    An axis that no operand follows is dropped from the space, and remains only in the map of the result.
    """
    followed = [axis for axis in range(len(space)) if any(axes[axis] is not None for axes in maps)]
    places = {axis: place for place, axis in enumerate(followed)}
    return BroadcastSpace(
        tuple(tuple(axes[axis] for axis in followed) for axes in maps),
        tuple(space[axis] for axis in followed),
        tuple(result_size(space[axis]) for axis in followed),
        tuple(places.get(axis) for axis in range(len(space))),
        # An axis that no operand follows keeps all its sizes, because only readers of the result need them to fit.
        tuple(result_size(size) if axis in places else size for axis, size in enumerate(space)),
    )


def _read(table: TermTable, key: Key, cores: Sequence[Core], frame: BroadcastSpace, description: str) -> ProofValue:
    """Return the result of an elementwise operator on these cores, read together as `frame` describes."""
    core, new = table.find_or_create_core((EACH, table.loop_nest(key, frame.maps, frame.space), *cores), description)
    if new:
        core.sizes = frame.core_sizes
    return ProofValue(core, frame.axes, frame.sizes)


def unary(table: TermTable, key: Key, view: ProofValue, description: str) -> ProofValue:
    """Return the result of an elementwise operator of one operand, which is read by the operand's own map."""
    return compose_maps(view, elementwise(table, key, [value_of(view.core)], description))


def _unranked(table: TermTable, key: Key, views: Sequence[ProofValue], description: str) -> ProofValue:
    """Return the result of an elementwise operator if a rank is unknown: the space is the set of all operands' shapes.

    All maps are right-aligned. A value of known rank takes part with its map without leading unit axes. So a stretch of
    an operand to the shape of another operand adds nothing to the set. The result has an unknown rank.
    """
    shapes: set[Extent] = set()
    reads: list[tuple[object, ...]] = []
    for view in views:
        shapes |= view.broadcast_shapes or {shape_or_value(view)}
        reads.append((view.core, _stripped(view)))
    table.check_fit(frozenset(shapes))
    core, new = table.find_or_create_core(("unranked", key, tuple(reads), *_space(table, shapes)), description)
    if new and len(views) == 1:
        core.shape_source = views[0].core.shape_source or views[0].core
    return ProofValue(core, None, None)


def _space(table: TermTable, shapes: Collection[Extent]) -> tuple[frozenset[Extent], Sizes]:
    """Return the values among `shapes`, which represent unknown shapes, and the broadcast of all known shapes."""
    ranked_shapes = [sizes for sizes in shapes if not isinstance(sizes, ProofValue)]
    return frozenset(sizes for sizes in shapes if isinstance(sizes, ProofValue)), table.algebra.broadcast_shape(
        *ranked_shapes
    )


def _stripped(view: ProofValue) -> Axes | None:
    """Return the map without leading axes that follow no axis; None if the map is unknown."""
    if view.axes is None:
        return None
    front = next((place for place, axis in enumerate(view.axes) if axis is not None), len(view.axes))
    return view.axes[front:]


def onto(
    table: TermTable, key: Key, view: ProofValue, others: Sequence[ProofValue], description: str, *, keeps: bool = False
) -> ProofValue:
    """Return the result of an operator that broadcasts `others` onto operand 0 (`view`), whose shape the result has.

    If `keeps`, no runtime stretches operand 0, so the result has exactly its shape. Otherwise a size of the result is
    unknown where the others may not fit. If an operand has a higher rank than operand 0, the operands are compared as
    values with their shapes, not by maps.
    """
    sizes = view.sizes if keeps else onto_sizes(view.sizes, [other.sizes for other in others])
    if view.sizes is None or any(other.sizes is None for other in others):
        reads = tuple((other.core, _stripped(other)) for other in others)
        checked = [
            frozenset({shape_or_value(view), *(other.broadcast_shapes or {shape_or_value(other)})}) for other in others
        ]
        spaces = tuple(_space(table, table.check_fit(extents)) for extents in checked)
        return table.result(("unranked onto", *key, view, reads, spaces), description, sizes)
    if any(len(other.sizes or ()) > len(view.sizes) for other in others):
        return table.result(("onto exactly", *key, (view, *others)), description, sizes)
    space = table.algebra.broadcast_shape(view.sizes, *(other.sizes or () for other in others))
    cores, maps = tuple(other.core for other in others), tuple(_over(other, len(space)) for other in others)
    return table.result(("onto", *key, view, cores, maps, space), description, sizes)


def onto_sizes(own: Sizes | None, others: Sequence[Sizes | None]) -> Dims:
    """Return the sizes of a value onto which `others` are broadcast; `own` is the shape of the value before.

    A size is None if it is 1 or a symbol, and another size faces it that may differ. Return None instead of a shape if
    a rank is unknown, or if another rank is higher than that of `own`. If the shapes do not fit one way, some runtimes
    refuse and others broadcast both ways: PRelu of x[1,3] by a slope [4,3] is [4,3] in onnxruntime.
    """
    if own is None or any(sizes is None or len(sizes) > len(own) for sizes in others):
        return None
    columns = zip(own, *(right_aligned(sizes or (), len(own)) for sizes in others), strict=True)
    return tuple(
        size if (isinstance(size, int) and size != 1) or all(other in (1, size) for other in facing) else None
        for size, *facing in columns
    )


def onto_target(table: TermTable, view: ProofValue, target: Sizes, description: str) -> ProofValue | None:
    """Return an operand stretched to `target`, as an operator of the proof, because the operand may not fit the target.

    The operator reads the operand by its map. Return None if the rank of the operand is unknown or higher than that of
    the target, or if the target has a negative size.
    """
    if view.sizes is None or len(view.sizes) > len(target) or any(isinstance(to, int) and to < 0 for to in target):
        return None
    sizes = tuple(right_aligned(view.sizes, len(target)))
    return table.result(("stretch", view.core, _over(view, len(target)), sizes, target), description, target)


def _over(view: ProofValue, rank: int) -> Axes:
    """Return the map right-aligned to a space of this rank: leading axes follow no axis."""
    axes = view.axes or ()
    return (None,) * (rank - len(axes)) + axes


def product(
    table: TermTable,
    key: Key,
    pair: tuple[ProofValue, ProofValue],
    description: str,
    *,
    outer: tuple[int, int] = (-2, -1),
) -> ProofValue:
    """Return the product of two stacks of matrices: batch axes are broadcast, and the last two axes are not.

    `outer` contains for each operand the axis that stays in the result, -2 or -1; the other one is summed over. A
    vector has only the summed axis. If the shape of an operand is unknown or a scalar, the term contains both operands
    without maps, and the result's rank is unknown.
    """
    if any(0 in view.sizes for view in pair if view.sizes):
        pair = _without_elements(table, pair[0]), _without_elements(table, pair[1])
    one, two = pair
    if not one.sizes or not two.sizes:
        return table.result(("product exactly", *key, (one, two)), description, None)
    batch = table.algebra.broadcast_shape(one.sizes[:-MATRIX], two.sizes[:-MATRIX])
    rank = len(batch)
    (rows, summed), (columns, other) = matrix_sides(one.sizes, outer[0]), matrix_sides(two.sizes, outer[1])
    space = (*batch, *(rows or (1,)), *(columns or (1,)), table.algebra.broadcast_size((*summed, *other)))
    maps = _stacked(one, rank, outer[0], left=True), _stacked(two, rank, outer[1], left=False)
    # The space has less information than the sizes of the last two axes, which must be equal and are never stretched.
    exactly = tuple(sizes[-MATRIX:] for sizes in (one.sizes, two.sizes))
    term = ("product", *key, exactly, (one.core, two.core), maps, space)
    return table.result(term, description, (*batch, *rows, *columns))


def matrix_sides(sizes: Sizes, outer: int) -> tuple[Sizes, Sizes]:
    """Return the size of a matrix that stays in the product, and the size that is summed over, each in a tuple.

    `outer` is the axis that stays, -2 or -1. For a vector the first tuple is empty.
    """
    if len(sizes) < MATRIX:
        return (), sizes
    return (sizes[outer],), (sizes[-PRODUCT_AXES - outer],)


def _stacked(view: ProofValue, rank: int, outer: int, *, left: bool) -> Axes:
    """Return the map of an operand of a matrix product over the batch axes, right-aligned, then rows, columns and sum.

    `left` is True for the first operand, which has rows. The second operand has columns.
    """
    axes = view.axes or ()
    batch = (None,) * (rank - len(axes[:-MATRIX])) + axes[:-MATRIX]
    if len(axes) < MATRIX:
        return (*batch, None, None, axes[-1])
    kept, summed = axes[outer], axes[-PRODUCT_AXES - outer]
    return (*batch, kept, None, summed) if left else (*batch, None, kept, summed)

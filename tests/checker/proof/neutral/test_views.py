"""Views: which moves of elements are maps, against what numpy makes of numbered elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from graphfix.checker.proof.core.sizes import Algebra, Size, Sizes
from graphfix.checker.proof.core.terms import ProofValue, TermTable, value_of
from graphfix.checker.proof.neutral import views
from graphfix.checker.proof.neutral.constant_folding import as_constant
from graphfix.checker.proof.neutral.constants import Constants
from graphfix.checker.proof.neutral.neutral_elements import neutral_result
from graphfix.checker.proof.neutral.repeat_elements import LONGEST, merged, repeated

Array = np.ndarray[Any, Any]


def value(table: TermTable, sizes: Sequence[int | str] | None, name: str = "x") -> ProofValue:
    """Return an input; a text is a symbol."""
    core, _ = table.find_or_create_core(("input", name), name)
    core.sizes = None if sizes is None else shape(table, sizes)
    return value_of(core)


def shape(table: TermTable, sizes: Sequence[int | str]) -> Sizes:
    return tuple(table.algebra.symbol((size,), size) if isinstance(size, str) else size for size in sizes)


def elements(view: ProofValue, array: Array) -> Array:
    """Return the elements of a view of the array that the input holds."""
    core: object = view.core
    if view.core.key[0] == "repeat":
        _, core, times = view.core.key
        for axis, time in enumerate(times):  # type: ignore[arg-type]  # keys hold anything
            array = np.repeat(array, time, axis)
    assert getattr(core, "key", None) == ("input", "x")
    axes = view.axes or ()
    followed = [axis for axis in axes if axis is not None]
    assert [size for axis, size in enumerate(array.shape) if axis not in followed] == [1] * (array.ndim - len(followed))
    assert followed == sorted(followed)
    full = array.reshape([1 if axis is None else array.shape[axis] for axis in axes])
    return np.broadcast_to(full, [size for size in view.sizes or () if isinstance(size, int)])


Move = Callable[[TermTable, ProofValue], ProofValue | None]
MOVES: dict[str, tuple[Sequence[int], Move, Callable[[Array], Array] | None]] = {
    "axes in front": ((2, 3), lambda _, x: views.unsqueezed(x, [0, 1]), lambda a: a.reshape(1, 1, 2, 3)),
    "axes counted from the end": ((2, 3), lambda _, x: views.unsqueezed(x, [-1, -3]), lambda a: a.reshape(2, 1, 3, 1)),
    "an axis twice": ((2, 3), lambda _, x: views.unsqueezed(x, [0, -4]), None),
    "an axis too far": ((2, 3), lambda _, x: views.unsqueezed(x, [3]), None),
    "an axis too far back": ((2, 3), lambda _, x: views.unsqueezed(x, [-4]), None),
    "the last axis": ((2, 3), lambda _, x: views.unsqueezed(x, [2]), lambda a: a.reshape(2, 3, 1)),
    "units dropped": ((2, 1, 3, 1), lambda _, x: views.squeezed(x, [1, -1]), lambda a: a.reshape(2, 3)),
    "one of two units dropped": ((2, 1, 3, 1), lambda _, x: views.squeezed(x, [1]), lambda a: a.reshape(2, 3, 1)),
    "no unit dropped": ((2, 1, 3), lambda _, x: views.squeezed(x, [0]), None),
    "a unit too far": ((2, 1), lambda _, x: views.squeezed(x, [2]), None),
    "a unit too far back": ((1, 2), lambda _, x: views.squeezed(x, [-3]), None),
    "flat behind": ((2, 1, 3), lambda _, x: views.flattened(x, 1), lambda a: a.reshape(2, 3)),
    "flat in front": ((1, 3, 1), lambda _, x: views.flattened(x, 2), lambda a: a.reshape(3, 1)),
    "flat at the front": ((3,), lambda _, x: views.flattened(x, 0), lambda a: a.reshape(1, 3)),
    "flat at the end": ((3,), lambda _, x: views.flattened(x, 1), lambda a: a.reshape(3, 1)),
    "flat from the end": ((2, 1, 3), lambda _, x: views.flattened(x, -1), lambda a: a.reshape(2, 3)),
    "flat beyond the end": ((3,), lambda _, x: views.flattened(x, 2), None),
    "flat before the front": ((3,), lambda _, x: views.flattened(x, -2), None),
    "two axes flat": ((2, 3), lambda _, x: views.flattened(x, 0), None),
    "two axes flat in front": ((2, 3), lambda _, x: views.flattened(x, 2), None),
    "stretched both ways": (
        (2, 1), lambda t, x: views.expanded(t.algebra, x, (4, 1, 3)), lambda a: np.broadcast_to(a, (4, 2, 3))),
    "stretched to less": ((2, 3), lambda t, x: views.expanded(t.algebra, x, (1,)), lambda a: a),
    "stretched below 0": ((1, 3), lambda t, x: views.expanded(t.algebra, x, (-1, 3)), None),
    "stretched to nothing": (
        (1, 3), lambda t, x: views.expanded(t.algebra, x, (0, 3)), lambda a: np.broadcast_to(a, (0, 3))),
    "stretched to a shape": (
        (2, 1), lambda t, x: views.broadcast_to(t.algebra, x, (4, 2, 3)), lambda a: np.broadcast_to(a, (4, 2, 3))),
    "stretched to its own": ((2, 3), lambda t, x: views.broadcast_to(t.algebra, x, (2, 3)), lambda a: a),
    "stretched to one": ((2, 3), lambda t, x: views.broadcast_to(t.algebra, x, (1, 3)), None),
    "stretched to fewer axes": ((1, 3), lambda t, x: views.broadcast_to(t.algebra, x, (3,)), None),
    "stretched to a shape below 0": ((1, 3), lambda t, x: views.broadcast_to(t.algebra, x, (-1, 3)), None),
    "stretched to an empty shape": (
        (1, 3), lambda t, x: views.broadcast_to(t.algebra, x, (0, 3)), lambda a: np.broadcast_to(a, (0, 3))),
    "tiled": ((1, 3), lambda _, x: views.tiled(x, (4, 1)), lambda a: np.tile(a, (4, 1))),
    "tiled to nothing": ((1, 3), lambda _, x: views.tiled(x, (0, 1)), lambda a: np.tile(a, (0, 1))),
    "tiled along elements": ((1, 3), lambda _, x: views.tiled(x, (1, 2)), None),
    "tiled below 0": ((1, 3), lambda _, x: views.tiled(x, (-1, 1)), None),
    "tiled along fewer axes": ((1, 3), lambda _, x: views.tiled(x, (2,)), None),
    "reshaped with units": (
        (2, 1, 3), lambda _, x: views.reshaped(x, (1, 2, 3, 1), zero_copies=True), lambda a: a.reshape(1, 2, 3, 1)),
    "reshaped with one open": (
        (2, 1, 3), lambda _, x: views.reshaped(x, (2, -1), zero_copies=True), lambda a: a.reshape(2, 3)),
    "reshaped with an open unit": (
        (2, 3), lambda _, x: views.reshaped(x, (2, -1, 3), zero_copies=True), lambda a: a.reshape(2, 1, 3)),
    "reshaped with the first open": (
        (2, 3), lambda _, x: views.reshaped(x, (-1, 1, 3), zero_copies=True), lambda a: a.reshape(2, 1, 3)),
    "reshaped with two axes in one": ((2, 3), lambda _, x: views.reshaped(x, (-1,), zero_copies=True), None),
    "reshaped with an open one beside nothing": (
        (0, 3), lambda _, x: views.reshaped(x, (0, -1), zero_copies=True), None),
    "reshaped with too many sizes beside an open one": (
        (2, 3), lambda _, x: views.reshaped(x, (2, 3, 4, -1), zero_copies=True), None),
    "reshaped with a copy": (
        (2, 3), lambda _, x: views.reshaped(x, (0, 1, 3), zero_copies=True), lambda a: a.reshape(2, 1, 3)),
    "reshaped with a copy of a unit": (
        (1, 3), lambda _, x: views.reshaped(x, (0, 3, 1), zero_copies=True), lambda a: a.reshape(1, 3, 1)),
    "reshaped with a copy of nothing": ((2, 3), lambda _, x: views.reshaped(x, (2, 3, 0), zero_copies=True), None),
    "reshaped to no elements": ((2, 3), lambda _, x: views.reshaped(x, (0, 3), zero_copies=False), None),
    "reshaped to other sizes": ((2, 3), lambda _, x: views.reshaped(x, (3, 2), zero_copies=True), None),
    "repeated": ((2, 3), lambda t, x: repeated(t, x, (2, 1), ""), lambda a: np.repeat(a, 2, 0)),
    "repeated twice": (
        (2, 3), lambda t, x: repeated(t, known(repeated(t, x, (2, 1), "")), (3, 4), ""),
        lambda a: np.repeat(np.repeat(a, 6, 0), 4, 1)),
    "a unit repeated": ((1, 3), lambda t, x: repeated(t, x, (5, 1), ""), lambda a: np.repeat(a, 5, 0)),
    "repeated once": ((2, 3), lambda t, x: repeated(t, x, (1, 1), ""), lambda a: a),
    "merged": (
        (2, 3), lambda t, x: merged(t, ProofValue(x.core, (0, None, 1), (2, 4, 3)), (8, 3), ""),
        lambda a: np.repeat(a, 4, 0)),
    "merged behind": (
        (2, 3), lambda t, x: merged(t, ProofValue(x.core, (0, 1, None), (2, 3, 4)), (2, 12), ""),
        lambda a: np.repeat(a, 4, 1)),
    "merged in front": ((2, 3), lambda t, x: merged(t, ProofValue(x.core, (None, 0, 1), (4, 2, 3)), (8, 3), ""), None),
    "merged with a unit": (
        (2, 3), lambda t, x: merged(t, ProofValue(x.core, (0, None, 1), (2, 4, 3)), (8, 1, 3), ""),
        lambda a: np.repeat(a, 4, 0)[:, None]),
    "two axes merged": ((2, 3), lambda t, x: merged(t, x, (6,), ""), None),
    "an axis split": ((4, 3), lambda t, x: merged(t, x, (2, 2, 3), ""), None),
    "merged to another number": ((2, 3), lambda t, x: merged(t, x, (2, 4), ""), None),
    "merged without elements": ((0, 3), lambda t, x: merged(t, x, (0, 3), ""), None),
}  # fmt: skip


def known(view: ProofValue | None) -> ProofValue:
    assert view is not None
    return view


@pytest.mark.parametrize(("sizes", "move", "expected"), MOVES.values(), ids=MOVES)
def test_a_move_is_a_map_or_none(sizes: Sequence[int], move: Move, expected: Callable[[Array], Array] | None) -> None:
    table = TermTable(Algebra())
    found = move(table, value(table, sizes))
    if expected is None:
        assert found is None
        return
    array = np.arange(1, 1 + np.prod(sizes)).reshape(sizes)
    wanted = expected(array)
    assert known(found).sizes == wanted.shape
    assert (elements(known(found), array) == wanted).all()


def test_moves_of_sizes_that_are_not_known() -> None:
    table = TermTable(Algebra())
    n, m = shape(table, "NM")
    x = value(table, ["N", 1, 3])
    assert known(views.reshaped(x, (n, 3), zero_copies=True)) == ProofValue(x.core, (0, 2), (n, 3))
    assert known(views.reshaped(x, (0, 3), zero_copies=True)) == ProofValue(x.core, (0, 2), (n, 3))
    assert known(views.reshaped(x, (-1, 3), zero_copies=True)) == ProofValue(x.core, (0, 2), (n, 3))
    assert views.reshaped(x, (m, 3), zero_copies=True) is None
    assert views.reshaped(x, (1, n, 3), zero_copies=True) is None  # an N of 0 would stand for the 1
    assert known(views.reshaped(x, (1, n, 3), zero_copies=False)) == ProofValue(x.core, (None, 0, 2), (1, n, 3))
    assert views.reshaped(x, (n, -1), zero_copies=False) is None  # an N of 0 leaves the other open
    assert views.squeezed(x, [0]) is None
    assert views.tiled(x, (n, 1, 1)) is None
    assert known(views.tiled(x, (1, n, 1))).sizes == (n, n, 3)
    assert known(views.broadcast_to(table.algebra, x, (n, 4, 3))).sizes == (n, 4, 3)
    assert views.broadcast_to(table.algebra, x, (m, 4, 3)) is None
    assert views.broadcast_to(table.algebra, x, (1, 1, 3)) is None
    assert views.unit_axes(table.arithmetic, x.sizes) is None
    assert views.unit_axes(table.arithmetic, (4, 1, 3, 1)) == [1, 3]
    more: Size | None = table.arithmetic.add(n, 2)
    assert more is not None
    assert views.unit_axes(table.arithmetic, (more, 1)) == [1]
    assert views.unit_axes(table.arithmetic, None) is None
    assert repeated(table, x, (1, 1, 2), "") is None


def test_of_an_unknown_rank_nothing_is_a_view() -> None:
    table = TermTable(Algebra())
    x = value(table, None)
    assert views.unsqueezed(x, [0]) is views.squeezed(x, [0]) is views.flattened(x, 0) is None
    assert views.expanded(table.algebra, x, (2,)) is views.broadcast_to(table.algebra, x, (2,)) is None
    assert views.tiled(x, (2,)) is views.reshaped(x, (2,), zero_copies=True) is None
    stretched = views.expanded_by(x, frozenset({(2,)}))
    assert (stretched.core, stretched.sizes, stretched.broadcast_shapes) == (x.core, None, {x, (2,)})
    assert views.expanded_by(stretched, frozenset({(3,)})).broadcast_shapes == {x, (2,), (3,)}


def test_coordinates_of_long_axes_may_be_rounded() -> None:
    table = TermTable(Algebra())
    assert repeated(table, value(table, (LONGEST // 2 - 1,)), (2,), "") is not None
    assert repeated(table, value(table, (LONGEST // 2,), "y"), (2,), "") is None


def test_of_an_axis_that_is_seen_stretched_or_twice_nothing_is_repeated() -> None:
    table = TermTable(Algebra())
    core = value(table, (1, 3)).core
    assert repeated(table, ProofValue(core, (1, 1), (3, 3)), (2, 1), "") is None
    assert repeated(table, ProofValue(core, (0, 1), (4, 3)), (2, 1), "") is None
    assert repeated(table, ProofValue(core, (0, 1), (4, 3)), (1, 2), "") is not None


NEUTRAL: list[tuple[str, object, bool, bool]] = [
    ("MUL", np.float32(1), True, True), ("MUL", np.float32(2), False, False), ("MUL", np.float32(0), False, False),
    ("DIV", np.float32(1), True, False), ("ADD", np.float32(-0.0), True, True), ("ADD", np.float32(0), False, False),
    ("SUB", np.float32(0), True, False), ("SUB", np.float32(-0.0), False, False), ("ADD", np.int32(0), True, True),
    ("SUB", np.int32(0), True, False), ("MUL", np.int32(1), True, True), ("MUL", np.bool_(1), False, False),
    ("MAX", np.float32(1), False, False), ("POW", np.float32(1), False, False), ("ADD", np.uint8(0), True, True),
]  # fmt: skip


@pytest.mark.parametrize(("op", "number", "right", "left"), NEUTRAL)
def test_an_operand_beside_a_neutral_number_is_the_result(op: str, number: object, right: bool, left: bool) -> None:
    table = TermTable(Algebra())
    x, constant = value(table, (2, 1)), as_constant(Constants(table), np.full((4, 1, 3), number), "c")
    stretched = ProofValue(x.core, (None, 0, None), (4, 2, 3))
    assert neutral_result(table.algebra, op, x, constant) == (stretched if right else None)
    assert neutral_result(table.algebra, op, constant, x) == (stretched if left else None)


def test_several_numbers_are_not_neutral() -> None:
    table = TermTable(Algebra())
    constant = as_constant(Constants(table), np.float32([1, 2]), "c")
    assert neutral_result(table.algebra, "MUL", value(table, (2,)), constant) is None
    assert neutral_result(table.algebra, "MUL", value(table, (2,)), value(table, None, "u")) is None
    assert neutral_result(table.algebra, "MUL", value(table, None, "u"), value(table, (2,))) is None


def test_a_value_of_unknown_rank_or_map_is_seen_by_no_operator() -> None:
    table = TermTable(Algebra())
    core, _ = table.find_or_create_core(("input", "x"), "x")
    core.sizes = (1, 3)
    full = ProofValue(core, (0, 1), (1, 3))

    def seen(view: ProofValue) -> list[ProofValue | None]:
        return [
            views.unsqueezed(view, (0,)),
            views.squeezed(view, (0,)),
            views.reshaped(view, (3,), zero_copies=False),
            views.flattened(view, 1),
            views.expanded(table.algebra, view, (2, 3)),
            views.broadcast_to(table.algebra, view, (2, 3)),
            views.tiled(view, (2, 1)),
        ]

    assert None not in seen(full)
    for view in (ProofValue(core, None, (1, 3)), ProofValue(core, (0, 1), None), ProofValue(core, None, None)):
        assert seen(view) == [None] * 7


def test_axes_are_all_within_the_rank() -> None:
    table = TermTable(Algebra())
    core, _ = table.find_or_create_core(("input", "x"), "x")
    n = table.algebra.symbol(("N",), "N")
    core.sizes = (1, 3, 1, n)
    view = ProofValue(core, (0, 1, 2, 3), core.sizes)
    assert views.unsqueezed(view, (0, 6)) is None is views.unsqueezed(view, (0, -7))
    assert views.unsqueezed(view, (0, -1)) == ProofValue(core, (None, 0, 1, 2, 3, None), (1, 1, 3, 1, n, 1))
    assert views.unsqueezed(view, (1, -5)) is None
    assert views.squeezed(view, (0, 1)) is None is views.squeezed(view, (2, 3))
    assert views.squeezed(view, (0, 4)) is None is views.squeezed(view, (0, -5))
    assert views.squeezed(view, (0,)) == ProofValue(core, (1, 2, 3), (3, 1, n))
    assert views.squeezed(view, (-2, 0)) == ProofValue(core, (1, 3), (3, n))
    assert views.squeezed(view, ()) == view
    more = [table.arithmetic.add(n, each) for each in (0, 1, 2)]
    found = [views.unit_axes(table.arithmetic, (1, size or 0, 3, 1)) for size in more]
    assert found == [None, None, [0, 3]]
    assert views.unit_axes(table.arithmetic, None) is None
    assert views.unit_axes(table.arithmetic, ()) == []


def test_one_size_of_a_target_may_be_open() -> None:
    table = TermTable(Algebra())
    core, _ = table.find_or_create_core(("input", "x"), "x")

    def seen(sizes: tuple[int, ...], *target: int) -> tuple[object, object] | None:
        found = views.reshaped(ProofValue(core, tuple(range(len(sizes))), sizes), target, zero_copies=False)
        return None if found is None else (found.axes, found.sizes)

    assert seen((2, 3), 1, -1, 3) == ((None, 0, 1), (1, 2, 3))
    assert seen((2, 3), 2, -1, 3) == ((0, None, 1), (2, 1, 3))
    assert seen((2, 1, 3), 2, 1, -1) == ((0, None, 2), (2, 1, 3))
    assert seen((2, 3), 2, 3, -1) == ((0, 1, None), (2, 3, 1))
    assert seen((2, 0), -1, 2, 0) is None
    assert seen((2, 3), -1) is None
    assert seen((2, 3), 3, -1) is None
    assert seen((2, 3), -1, -1) is None


def test_a_number_is_the_size_of_what_fits_it() -> None:
    table = TermTable(Algebra())
    n = table.algebra.symbol(("N",), "N")
    core, _ = table.find_or_create_core(("input", "x"), "x")
    view = ProofValue(core, (0,), (n,))
    assert views.broadcast_to(table.algebra, view, (5,)) == ProofValue(
        core, (0,), (table.algebra.broadcast_size((n, 5)),)
    )
    assert views.broadcast_to(table.algebra, view, (1,)) is None
    assert views.broadcast_to(table.algebra, view, (-1,)) is None
    assert views.broadcast_to(table.algebra, view, ()) is None
    assert views.broadcast_to(table.algebra, view, (7, n)) == ProofValue(core, (None, 0), (7, n))

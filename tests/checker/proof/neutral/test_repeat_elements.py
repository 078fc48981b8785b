"""Elements that stand several times in a row: the map that is made of factors, and of axes that are joined."""

from __future__ import annotations

import pytest

from graphfix.checker.proof.core.sizes import Algebra, Size
from graphfix.checker.proof.core.terms import ProofValue, TermTable
from graphfix.checker.proof.neutral.repeat_elements import LONGEST, merged, repeated

Axes = tuple[int | None, ...]


def value(sizes: tuple[Size, ...] | None) -> tuple[TermTable, ProofValue]:
    """A value of these sizes, whose view is made by `seen`."""
    table = TermTable(Algebra())
    core, _ = table.find_or_create_core(("input", "x"), "x")
    core.sizes = sizes
    return table, ProofValue(core, None, None)


def seen(view: ProofValue, axes: Axes | None, sizes: tuple[Size, ...] | None) -> ProofValue:
    return ProofValue(view.core, axes, sizes)


REPEATED: list[tuple[Axes | None, tuple[int, ...] | None, tuple[int, ...], tuple[int, ...] | None]] = [
    ((0, 1), (2, 3), (4, 1), (4, 1)),
    ((0, 1), (2, 3), (1, 5), (1, 5)),
    ((1, 0), (3, 2), (5, 4), (4, 5)),
    ((None, 0), (1, 2), (4, 3), (3, 1)),
    ((0, 1), (2, 1), (3, 1), (3, 1)),
    ((0, 1), (5, 3), (2, 1), None),
    ((0, 1), (2, 1), (1, 2), None),
    ((0, 0), (2, 2), (3, 1), None),
    (None, (2, 3), (3, 1), None),
    ((0, 1), None, (3, 1), None),
    ((0, 1), (2, 3), (LONGEST // 2, 1), None),
    ((0, 1), (2, 3), (LONGEST // 2 - 1, 1), (LONGEST // 2 - 1, 1)),
]


@pytest.mark.parametrize(("axes", "sizes", "factors", "times"), REPEATED)
def test_each_axis_is_repeated_by_its_factor(
    axes: Axes | None, sizes: tuple[int, ...] | None, factors: tuple[int, ...], times: tuple[int, ...] | None
) -> None:
    table, given = value((2, 3))
    found = repeated(table, seen(given, axes, sizes), factors, "r")
    if times is None:
        assert found is None
        return
    assert found is not None
    assert found.core.key == ("repeat", given.core, times)
    assert found.core.sizes == (2 * times[0], 3 * times[1])
    assert found.axes == axes
    assert found.sizes == tuple(size * factor for size, factor in zip(sizes or (), factors, strict=True))


def test_factors_of_1_leave_the_value_as_it_is() -> None:
    table, given = value((2, 3))
    for axes, sizes in (((0, 1), (2, 3)), ((None, 1), (1, 3)), ((0, 1), (5, 3))):
        assert repeated(table, seen(given, axes, sizes), (1, 1), "r") == ProofValue(given.core, axes, sizes)
    assert repeated(table, seen(given, (None, 1), (1, 3)), (4, 1), "r") == ProofValue(given.core, (None, 1), (4, 3))
    assert repeated(table, seen(given, (), ()), (), "r") == ProofValue(given.core, (), ())


def test_what_is_repeated_twice_is_repeated_by_the_product() -> None:
    table, given = value((2, 3))
    first = repeated(table, seen(given, (0, 1), (2, 3)), (2, 1), "r")
    assert first is not None
    second = repeated(table, first, (3, 5), "r")
    assert second is not None
    assert (second.core.key, second.core.sizes, second.sizes) == (("repeat", given.core, (6, 5)), (12, 15), (12, 15))
    assert repeated(table, seen(given, (0, 1), (2, 3)), (6, 5), "r") == second


def test_a_size_that_is_free_or_unknown_is_not_repeated() -> None:
    free = Algebra().symbol(("N",), "N")
    table, given = value((2, free))
    assert repeated(table, seen(given, (0, 1), (2, free)), (3, 1), "r") is None
    found = repeated(table, seen(given, (0,), (2,)), (3,), "r")
    assert found is not None
    assert (found.core.sizes, found.sizes) == ((6, free), (6,))
    table, given = value(None)
    assert repeated(table, seen(given, (0, 1), (2, 3)), (3, 1), "r") is None


MERGED: list[tuple[Axes | None, tuple[int, ...] | None, tuple[int, ...], tuple[Axes, tuple[int, ...]] | None]] = [
    ((0, None, 1, None), (2, 2, 3, 4), (4, 12), ((0, 1), (2, 4))),
    ((0, None, 1), (2, 5, 3), (10, 3), ((0, 1), (5, 1))),
    ((0, None, None, 1), (2, 5, 7, 3), (70, 3), ((0, 1), (35, 1))),
    ((None, 0, 1), (1, 2, 3), (2, 3), ((0, 1), (1, 1))),
    ((0, 1), (2, 3), (1, 2, 3, 1), ((None, 0, 1, None), (1, 1))),
    ((None, 0), (2, 3), (2, 3), ((None, 0), (1, 1))),
    ((None, 0), (2, 3), (6,), None),
    ((0, 1), (2, 3), (6,), None),
    ((0, 1), (2, 3), (3, 2), None),
    ((0, None), (2, 3), (2, 4), None),
    ((0, None), (2, 3), (4, 3), None),
    ((0, None), (2, 0), (0,), None),
    (None, (2, 3), (6,), None),
    ((0, None), None, (6,), None),
]


@pytest.mark.parametrize(("axes", "sizes", "target", "expected"), MERGED)
def test_axes_that_follow_none_are_joined_to_the_one_in_front(
    axes: Axes | None,
    sizes: tuple[int, ...] | None,
    target: tuple[int, ...],
    expected: tuple[Axes, tuple[int, ...]] | None,
) -> None:
    own = {at: size for at, size in zip(axes or (), sizes or (), strict=False) if at is not None}
    table, given = value(tuple(own.get(at, 3) for at in range(2)))
    found = merged(table, seen(given, axes, sizes), target, "m")
    if expected is None:
        assert found is None
        return
    assert found is not None
    followed, times = expected
    same = times == (1, 1)
    assert found.core.key == (("input", "x") if same else ("repeat", given.core, times))
    assert (found.axes, found.sizes) == (followed, target)

"""Sizes of axes as terms: which are broadcast to what, and which of them only the second file needs to fit."""

from __future__ import annotations

from math import inf

import pytest

from graphfix.checker.proof.core.sizes import (
    Algebra,
    Place,
    Size,
    Symbol,
    all_known,
    broadcast_parts,
    has_clash,
    is_executed_with,
    numbers,
    result_size,
    result_sizes,
    right_aligned,
)

A, B = ("if", "then"), ("loop", "body")
"""Two bodies."""


def symbols(count: int = 3) -> tuple[Algebra, list[Symbol]]:
    algebra = Algebra()
    return algebra, [algebra.symbol((name,), name) for name in "NMK"[:count]]


def test_one_term_is_one_symbol_with_its_first_name() -> None:
    algebra, (n, m) = symbols(2)
    assert algebra.symbol(("N",), "other") is n is not m
    assert (repr(n), repr(m)) == ("N", "M")


@pytest.mark.parametrize(
    ("name", "shown"), [("", "s2"), ("x" * 1024, "x" * 1024), ("x" * 1025, "s2")], ids=["none", "long", "too long"]
)
def test_a_symbol_without_a_short_name_is_numbered(name: str, shown: str) -> None:
    algebra, _ = symbols(2)
    assert repr(algebra.symbol(("other",), name)) == shown


def test_ones_and_equal_sizes_are_no_part_of_a_broadcast() -> None:
    algebra, (n, m, k) = symbols()
    broadcast = algebra.broadcast_size
    assert (broadcast(()), broadcast((1, 1)), broadcast((1, 4, 4))) == (1, 1, 4)
    assert broadcast((1, n, n)) is n
    both = broadcast((m, 3, n))
    assert (repr(both), broadcast_parts(both)) == ("bc{3,N,M}", (3, n, m))
    assert broadcast((n, m, 3)) is both is broadcast((broadcast((3, m)), 1, n))
    assert broadcast((both, k)) is broadcast((k, n, m, 3)) is not both
    assert broadcast_parts(n) == (n,)
    assert broadcast_parts(3) == (3,)


def test_a_broadcast_with_one_number_has_that_number() -> None:
    algebra, (n, m) = symbols(2)
    both, clash = algebra.broadcast_size((n, m)), algebra.broadcast_size((2, 3, n))
    assert result_size(algebra.broadcast_size((n, 4))) == 4
    assert result_size(both) is both
    assert result_size(clash) is clash
    assert result_sizes((1, n, algebra.broadcast_size((m, 7)))) == (1, n, 7)
    assert [has_clash(size) for size in (clash, both, algebra.broadcast_size((n, 4)), n, 4)] == [True, *[False] * 4]


def test_the_numbers_that_a_symbol_is_named_by_are_no_sizes() -> None:
    algebra, (n,) = symbols(1)
    axis = algebra.symbol(("dim", 7, 2), "dim 2 of 7")
    assert result_size(axis) is axis
    assert not has_clash(axis)
    assert not n.is_uninferred
    assert broadcast_parts(axis) == (axis,)
    assert result_size(algebra.broadcast_size((axis, 3))) == 3


def test_shapes_are_broadcast_from_their_last_axis() -> None:
    algebra, (n, m) = symbols(2)
    assert algebra.broadcast_shape((2, 1, n), (3, 1), ()) == (2, 3, n)
    assert algebra.broadcast_shape((n,), (m, n)) == (m, n)
    assert algebra.broadcast_shape() == ()
    assert right_aligned((5,), 3) == (1, 1, 5)
    assert right_aligned((2, 5), 2) == (2, 5)


@pytest.mark.parametrize(
    ("places", "place", "expected"),
    [
        ([()], (A,), True),
        ([(A,)], (A,), True),
        ([(A,)], (A, B), True),
        ([(A, B)], (A,), False),
        ([(A,)], (), False),
        ([(B,)], (A, B), False),
        ([(B,), (A,)], (A, B), True),
        ([], (), False),
    ],
)  # fmt: skip
def test_a_body_is_executed_only_where_the_ones_around_it_are(
    places: list[Place], place: Place, expected: bool
) -> None:
    assert is_executed_with(places, place) is expected


Checks = list[tuple[tuple[int, ...], Place]]
"""Sizes that are broadcast, by the numbers of their symbols, and where."""
FITS: dict[str, tuple[Checks, Checks, bool]] = {
    "the same": ([((0, 1), ())], [((1, 0), ())], True),
    "the same in a body": ([((0, 1), ())], [((0, 1), (A,))], True),
    "in a body alone before": ([((0, 1), (A,))], [((0, 1), ())], False),
    "in another body": ([((0, 1), (A,))], [((0, 1), (B,))], False),
    "in both bodies": ([((0, 1), (A,)), ((0, 1), (B,))], [((0, 1), (B,))], True),
    "fewer sizes": ([((0, 1, 2), ())], [((0, 1), ())], True),
    "fewer sizes in a body": ([((0, 1, 2), (A,))], [((0, 1), ())], False),
    "more sizes": ([((0, 1), ())], [((0, 1, 2), ())], False),
    "other sizes": ([((0, 1), ())], [((0, 2), ())], False),
    "the second check alone": ([((0, 1), ())], [((0, 1), ()), ((1, 2), ())], False),
    "none": ([((0, 1), ())], [], True),
}


@pytest.mark.parametrize(("before", "after", "matched"), FITS.values(), ids=FITS)
def test_the_second_file_needs_only_sizes_to_fit_that_the_first_needs(
    before: Checks, after: Checks, matched: bool
) -> None:
    algebra, made = symbols()
    for algebra.is_first_read, checks in ((False, before), (True, after)):
        for sizes, algebra.place in checks:
            algebra.broadcast_shape(tuple(made[at] for at in sizes[:1]), *((made[at],) for at in sizes[1:]))
    assert (algebra.unmatched_check() is None) is matched


def test_a_range_that_is_asked_for_is_used_once_it_is_read() -> None:
    algebra, (n, m) = symbols(2)
    algebra.ranges[n] = (2, 8)
    assert list(algebra.used_ranges) == []
    assert (algebra.asked_range(m), algebra.asked_range(n)) == ((0, inf), (2, 8))
    assert list(algebra.used_ranges) == [n]


def test_sizes_are_numbers_only_if_each_is_one() -> None:
    _, (n,) = symbols(1)
    mixed: list[tuple[Size | None, ...]] = [(2, n), (2, None), (n,)]
    assert [numbers(sizes) for sizes in mixed] == [None] * 3
    assert (numbers((2, 0)), numbers(()), numbers(None)) == ((2, 0), (), None)
    assert (all_known([2, 0]), all_known([]), all_known([2, None])) == ((2, 0), (), None)

"""The proof's arithmetic on sizes, held against numbers: equal terms are equal for all sizes."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from math import inf

import pytest

from graphfix.checker.proof.core.arithmetic import ELEMENT, Arithmetic
from graphfix.checker.proof.core.polynomials import MOST_TERMS
from graphfix.checker.proof.core.sizes import Algebra, Size, Symbol, result_size

Made = tuple[Size, Size | None]


def made() -> tuple[Arithmetic, Size, Size]:
    algebra = Algebra()
    return Arithmetic(algebra), algebra.symbol(("N",), "N"), algebra.symbol(("M",), "M")


def known(size: Size | None) -> Size:
    assert size is not None
    return size


ALIKE: dict[str, Callable[[Arithmetic, Size, Size], tuple[Size | None, Size | None]]] = {
    "sums": lambda a, n, _: (a.mul(n, 4), a.add(n, n, n, n)),
    "an exact quotient": lambda a, n, m: (a.quotient(known(a.mul(n, m, 8)), known(a.mul(m, 8))), n),
    "two strides and one": lambda a, n, _: (a.floordiv(known(a.floordiv(n, 2)), 2), a.floordiv(n, 4)),
    "two rounded up": lambda a, n, _: (a.ceildiv(known(a.ceildiv(n, 2)), 2), a.ceildiv(n, 4)),
    "the lesser, turned": lambda a, n, m: (a.lesser(n, m), a.lesser(m, n)),
    "half is not more than all": lambda a, n, _: (a.lesser(known(a.floordiv(n, 2)), n), a.floordiv(n, 2)),
    "a size is not negative": lambda a, n, _: (a.greater(n, 0), n),
    "half of double": lambda a, n, _: (a.floordiv(known(a.mul(n, 2)), 4), a.floordiv(n, 2)),
    "half of double and one": lambda a, n, _: (a.floordiv(known(a.add(known(a.mul(n, 2)), 1)), 4), a.floordiv(n, 2)),
    "a third of six and four": lambda a, n, _: (
        a.floordiv(known(a.add(known(a.mul(n, 6)), 4)), 9),
        a.floordiv(known(a.add(known(a.mul(n, 2)), 1)), 3),
    ),
    "a shared factor of a sum": lambda a, n, m: (
        a.floordiv(known(a.add(known(a.mul(n, 2)), known(a.mul(m, 4)), 2)), 6),
        a.floordiv(known(a.add(n, known(a.mul(m, 2)), 1)), 3),
    ),
    "what is positive of a multiple": lambda a, n, _: (
        a.greater(known(a.sub(known(a.mul(n, 4)), 2)), 0),
        a.mul(known(a.greater(known(a.sub(known(a.mul(n, 2)), 1)), 0)), 2),
    ),
    "what is positive of three times": lambda a, n, m: (
        a.greater(known(a.sub(known(a.mul(n, 3)), known(a.mul(m, 6)))), 0),
        a.mul(known(a.greater(known(a.sub(n, known(a.mul(m, 2)))), 0)), 3),
    ),
    "both halves": lambda a, n, _: (a.sub(n, known(a.floordiv(n, 2))), a.ceildiv(n, 2)),
}


@pytest.mark.parametrize("pair", ALIKE.values(), ids=ALIKE)
def test_one_function_is_one_term(pair: Callable[[Arithmetic, Size, Size], tuple[Size | None, Size | None]]) -> None:
    one, two = pair(*made())
    assert one is two is not None


def test_other_functions_are_other_terms() -> None:
    arithmetic, n, m = made()
    assert arithmetic.floordiv(n, 2) != arithmetic.ceildiv(n, 2)
    assert arithmetic.lesser(n, 64) != n
    assert arithmetic.add(n, m) != arithmetic.add(n, n)
    assert arithmetic.quotient(known(arithmetic.add(n, 1)), 2) is None
    twice = known(arithmetic.mul(known(arithmetic.floordiv(n, 2)), 2))
    assert arithmetic.floordiv(twice, 3) != arithmetic.floordiv(n, 6)
    assert arithmetic.floordiv(twice, 3) != arithmetic.floordiv(n, 3)


def test_terms_are_shown_as_they_are_computed() -> None:
    a, n, m = made()
    found = [
        a.add(n, m, 3),
        a.sub(known(a.mul(n, m, 2)), known(a.add(n, 1))),
        a.greater(known(a.sub(n, 1)), 0),
        a.lesser(n, 64),
        a.floordiv(known(a.add(n, 1)), 4),
        a.ceildiv(n, 3),
        a.mod(n, 3),
    ]
    assert list(map(repr, found)) == [
        "M+N+3",
        "2*N*M-N-1",
        "max(0, N-1)",
        "-max(0, N-64)+N",
        "floor((N+1)/4)",
        "floor((N+2)/3)",
        "-3*floor((N)/3)+N",
    ]


def test_sums_and_products_are_followed_up_to_a_length() -> None:
    a, n, _ = made()
    terms = [a.algebra.symbol((at,), f"s{at}") for at in range(MOST_TERMS + 1)]
    longest = a.add(*terms[1:])
    assert longest is not None
    assert a.mul(longest, n) is not None
    assert a.mul(longest, 3) is not None
    assert a.add(*terms) is None is a.add(longest, n)
    half = [known(a.add(*terms[first : first + 5])) for first in (0, 5)]
    assert a.mul(half[0], half[1]) is None
    assert a.mul(known(a.add(*terms[:4])), half[1]) is not None


BINARY: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "add": ("add", operator.add),
    "sub": ("sub", operator.sub),
    "mul": ("mul", operator.mul),
    "greater": ("greater", max),
    "lesser": ("lesser", min),
}
DIVIDED: dict[str, Callable[[int, int], int]] = {
    "floordiv": lambda x, by: x // by,
    "ceildiv": lambda x, by: -(-x // by),
    "mod": lambda x, by: x % by,
}
VALUES = [(n, m) for n in (0, 1, 2, 3, 7, 8, 63, 64, 65, 100) for m in (0, 1, 2, 5, 64)]


@pytest.mark.alike(3)
@pytest.mark.parametrize("seed", range(300))
def test_random_terms_are_what_they_say(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 -- no secret
    arithmetic, n, m = made()
    pool: list[tuple[Size, list[int]]] = [(n, [x for x, _ in VALUES]), (m, [y for _, y in VALUES])]
    held: dict[Size, list[int]] = {}
    for _ in range(8):
        (one, ours), (two, theirs) = rng.choice(pool), rng.choice(pool)
        number = rng.choice((1, 2, 3, 4, 7, 64))
        if rng.random() < 0.4:
            two, theirs = number, [number] * len(VALUES)
        name = rng.choice([*BINARY, *DIVIDED])
        if name in BINARY:
            found = getattr(arithmetic, name)(one, two)
            values = [BINARY[name][1](x, y) for x, y in zip(ours, theirs, strict=True)]
        else:
            found, values = getattr(arithmetic, name)(one, number), [DIVIDED[name](x, number) for x in ours]
        if found is None:
            continue
        pool.append((found, values))
        assert held.setdefault(found, values) == values, found
        assert not isinstance(found, int) or set(values) == {found}
        low, high = arithmetic.difference_bounds(found, one)
        differences = [x - y for x, y in zip(values, ours, strict=True)]
        assert low <= min(differences) <= max(differences) <= high, (found, one)
        assert arithmetic.least(found) <= min(values)
        assert not (isinstance(found, Symbol) and found.is_never_1 and 1 in values)


def test_sizes_that_are_one_together_are_equal_where_they_fit() -> None:
    arithmetic, n, _ = made()
    cut = known(arithmetic.lesser(n, 64))
    assert result_size(arithmetic.algebra.broadcast_size((cut, n))) is n
    for other in (arithmetic.lesser(n, 1), arithmetic.ceildiv(n, 2)):
        checked = arithmetic.algebra.broadcast_size((known(other), n))
        assert result_size(checked) is checked


def test_a_size_that_is_never_1_is_the_size_of_the_result() -> None:
    arithmetic, n, m = made()
    broadcast, twice, more = arithmetic.algebra.broadcast_size, known(arithmetic.mul(n, 2)), known(arithmetic.add(m, 2))
    assert result_size(broadcast((twice, m))) is twice
    assert result_size(broadcast((m, more))) is more
    both = broadcast((twice, more))  # they are equal wherever they fit
    assert result_size(both) is both
    assert arithmetic.inferred_size((both, m), (2, m)) is n
    assert arithmetic.inferred_size((both, n), (more,)) is n
    for other in (known(arithmetic.add(n, 1)), known(arithmetic.mul(n, n)), known(arithmetic.sub(known(twice), m))):
        checked = broadcast((other, m))
        assert result_size(checked) is checked


def test_ranges_are_assumed_only_where_they_say_more() -> None:
    arithmetic, n, m = made()
    assert isinstance(n, Symbol)
    assert isinstance(m, Symbol)
    algebra = arithmetic.algebra
    algebra.ranges = {n: (2, 8), m: (0, 4)}
    assert arithmetic.least_in_ranges(5) == 5
    assert arithmetic.least_in_ranges(known(arithmetic.add(n, 2))) == 2
    assert arithmetic.least_in_ranges(m) == 0
    assert list(algebra.used_ranges) == []
    assert arithmetic.least_in_ranges(n) == 2
    assert list(algebra.used_ranges) == [n]
    assert arithmetic.least_in_ranges(known(arithmetic.sub(8, n))) == 0
    assert arithmetic.least_in_ranges(known(arithmetic.add(n, 1))) == 3
    assert arithmetic.least(n) == 0


def test_a_term_is_a_size_where_a_value_has_it() -> None:
    arithmetic, n, _ = made()
    less, algebra = known(arithmetic.sub(n, 5)), arithmetic.algebra
    assert [arithmetic.is_size(size) for size in (n, 0, -1, less)] == [True, True, False, False]
    algebra.place = ("then",)
    arithmetic.record_sizes((less, n, 3))
    assert arithmetic.is_size(less)
    algebra.place = ("then", "inner")
    assert arithmetic.is_size(less)
    algebra.place = ()
    assert not arithmetic.is_size(less)


@pytest.mark.parametrize(
    ("before", "after", "is_new"),
    [((), (), False), ((), ("then",), False), (("then",), (), True), (("then",), ("else",), True), (None, (), True)],
    ids=str,
)
def test_the_second_file_fails_only_where_the_first_does(
    before: tuple[str, ...] | None, after: tuple[str, ...], is_new: bool
) -> None:
    arithmetic, n, _ = made()
    less, other, algebra = known(arithmetic.sub(n, 5)), known(arithmetic.sub(n, 6)), arithmetic.algebra
    if before is not None:
        algebra.place = before
        arithmetic.require_not_negative((n, less, 3))
    assert arithmetic.newly_needed is None
    algebra.is_first_read, algebra.place = True, after
    arithmetic.require_not_negative((n, less, 3))
    assert arithmetic.newly_needed is (less if is_new else None)
    arithmetic.require_not_negative((other,))
    assert arithmetic.newly_needed is (less if is_new else other)


def test_an_unknown_number_may_be_negative_where_no_value_has_it_as_a_size() -> None:
    arithmetic, n, _ = made()
    number = arithmetic.algebra.symbol((ELEMENT, 0), "number")
    arithmetic.algebra.is_first_read = True
    arithmetic.require_not_negative((n, number))
    assert arithmetic.newly_needed is number


def test_the_size_that_the_others_leave_open() -> None:
    arithmetic, n, m = made()
    assert arithmetic.inferred_size((n, 6), (n, 2)) == 3
    assert arithmetic.inferred_size((n, 6), (3,)) is arithmetic.mul(n, 2)
    assert arithmetic.inferred_size((n, m), (m,)) is n
    assert arithmetic.inferred_size((n,), (2,)) is arithmetic.floordiv(n, 2)
    assert arithmetic.inferred_size((7,), (2,)) is None
    assert arithmetic.inferred_size((n,), (m,)) is None
    assert arithmetic.inferred_size((6,), (2, 3)) == 1
    many = [n] * 65
    assert (
        arithmetic.mul(*many)
        is arithmetic.inferred_size(many, (m,))
        is arithmetic.inferred_size((n,), [m] * 65)
        is None
    )


def test_the_lesser_and_the_greater_of_sizes_that_are_ordered() -> None:
    arithmetic, n, _ = made()
    more = known(arithmetic.add(n, 2))
    assert arithmetic.lesser(n, more) is n
    assert arithmetic.greater(n, more) is more
    assert arithmetic.difference_bounds(more, n) == (2, 2)
    assert arithmetic.difference_bounds(n, n) == (0, 0)
    assert (arithmetic.lesser(3, 5), arithmetic.greater(3, 5)) == (3, 5)
    assert (arithmetic.floordiv(7, 2), arithmetic.ceildiv(7, 2), arithmetic.mod(7, 2)) == (3, 4, 1)
    assert known(arithmetic.mod(known(arithmetic.mul(n, 4)), 2)) == 0


def rest(a: Arithmetic, size: Size, by: int) -> Size:
    return known(a.sub(size, known(a.mul(known(a.floordiv(size, by)), by))))


INTERVALS: dict[str, tuple[Callable[[Arithmetic, Size, Size], Size | None], float, float]] = {
    "a number": (lambda _a, _n, _m: 5, 5, 5),
    "a size": (lambda _a, n, _m: n, 0, inf),
    "a number less a size": (lambda a, n, _m: a.sub(3, n), -inf, 3),
    "a size less a number": (lambda a, n, _m: a.sub(n, 3), -3, inf),
    "two sizes": (lambda a, n, m: a.sub(n, m), -inf, inf),
    "a rest": (lambda a, n, _m: rest(a, n, 3), 0, 2),
    "a rest and a number": (lambda a, n, _m: a.add(rest(a, n, 3), 5), 5, 7),
    "what is filled up": (lambda a, n, _m: a.sub(known(a.mul(known(a.ceildiv(n, 3)), 3)), n), 0, 2),
    "rounded up less rounded down": (lambda a, n, _m: a.sub(known(a.ceildiv(n, 3)), known(a.floordiv(n, 3))), 0, 1),
    "a half less a third": (lambda a, n, _m: a.sub(known(a.floordiv(n, 2)), known(a.floordiv(n, 3))), 0, inf),
    "a third less a half": (lambda a, n, _m: a.sub(known(a.floordiv(n, 3)), known(a.floordiv(n, 2))), -inf, 0),
    "all less a half and a third": (
        lambda a, n, _m: a.sub(n, known(a.add(known(a.floordiv(n, 2)), known(a.floordiv(n, 3))))), 0, inf),
    "half of a sum less both halves": (
        lambda a, n, m: a.sub(
            known(a.floordiv(known(a.add(n, m)), 2)), known(a.add(known(a.floordiv(n, 2)), known(a.floordiv(m, 2))))
        ), 0, 1),
    "the lesser": (lambda a, n, _m: a.lesser(n, 64), 0, inf),
    "what the lesser lacks": (lambda a, n, _m: a.sub(64, known(a.lesser(n, 64))), -inf, 64),
    "the greater": (lambda a, n, _m: a.greater(n, 64), 64, inf),
    "what is positive of one less, less all": (
        lambda a, n, _m: a.sub(known(a.greater(known(a.sub(n, 1)), 0)), n), -inf, 0),
    "half of a number less a size": (lambda a, n, _m: a.floordiv(known(a.sub(3, n)), 2), -inf, 1),
    "half of a size less a number": (lambda a, n, _m: a.floordiv(known(a.sub(n, 5)), 2), -3, inf),
    "a product less than 0": (lambda a, n, m: a.sub(0, known(a.mul(n, m))), -inf, 0),
    "a product of the lesser": (lambda a, n, m: a.mul(known(a.lesser(n, 64)), m), 0, inf),
    "two that are positive": (
        lambda a, n, m: a.sub(
            known(a.greater(known(a.sub(n, 4)), 0)), known(a.greater(known(a.sub(m, 4)), 0))), -inf, inf),
    "a rest by 7": (lambda a, n, _m: a.mod(n, 7), 0, 6),
}  # fmt: skip


@pytest.mark.parametrize(("term", "low", "high"), INTERVALS.values(), ids=INTERVALS)
def test_between_which_numbers_a_term_is(
    term: Callable[[Arithmetic, Size, Size], Size | None], low: float, high: float
) -> None:
    a, n, m = made()
    found = known(term(a, n, m))
    assert a.difference_bounds(found, 0) == (low, high)
    assert a.difference_bounds(0, found) == (-high, -low)
    assert a.difference_bounds(found, found) == (0, 0)
    assert a.least(found) == low


IN_RANGES: dict[str, tuple[Callable[[Arithmetic, Size, Size], Size | None], float]] = {
    "a product": (lambda a, n, m: a.mul(n, m), 12),
    "a square": (lambda a, n, _m: a.mul(n, n), 9),
    "a difference": (lambda a, n, m: a.sub(n, m), -2),
    "the other difference": (lambda a, n, m: a.sub(m, n), -6),
    "twice a size": (lambda a, n, _m: a.mul(n, 2), 6),
    "half a size": (lambda a, n, _m: a.floordiv(n, 2), 1),
    "a size less than 4 times another": (lambda a, n, m: a.sub(n, known(a.mul(m, 4))), -17),
}


@pytest.mark.parametrize(("term", "least"), IN_RANGES.values(), ids=IN_RANGES)
def test_the_least_of_a_term_in_ranges(term: Callable[[Arithmetic, Size, Size], Size | None], least: float) -> None:
    a, n, m = made()
    assert isinstance(n, Symbol)
    assert isinstance(m, Symbol)
    found = known(term(a, n, m))
    before = a.least(found)
    a.algebra.ranges.update({n: (3, 10), m: (4, 5)})
    assert (a.least_in_ranges(found), a.least(found)) == (least, before)
    assert bool(a.algebra.used_ranges) == (least > before)


ONES: dict[str, tuple[Callable[[Arithmetic, Size, Size], Size | None], bool, bool]] = {
    "the lesser of a number": (lambda a, n, _m: a.lesser(n, 64), True, False),
    "the lesser of 4 rounded up": (lambda a, n, _m: a.lesser(n, known(a.mul(known(a.ceildiv(n, 8)), 4))), True, False),
    "the lesser of two": (lambda a, n, m: a.lesser(n, m), False, False),
    "the lesser of 1": (lambda a, n, _m: a.lesser(n, 1), False, False),
    "the lesser of twice another": (lambda a, n, m: a.lesser(n, known(a.mul(m, 2))), False, False),
    "the lesser of twice less 4": (lambda a, n, _m: a.lesser(n, known(a.sub(known(a.mul(n, 2)), 4))), False, False),
    "the lesser of twice": (lambda a, n, _m: a.lesser(known(a.mul(n, 2)), 64), False, True),
    "the lesser of a square": (lambda a, n, _m: a.lesser(known(a.mul(n, n)), 64), False, False),
    "three times what 2 lacks": (
        lambda a, n, _m: a.add(n, known(a.greater(known(a.sub(6, known(a.mul(n, 3)))), 0))), False, False),
    "the greater of 1": (lambda a, n, _m: a.greater(n, 1), False, False),
    "the greater of 2": (lambda a, n, _m: a.greater(n, 2), False, True),
    "rounded up": (lambda a, n, _m: a.ceildiv(n, 2), False, False),
    "a product": (lambda a, n, m: a.mul(n, m), False, False),
    "twice": (lambda a, n, _m: a.mul(n, 2), False, True),
    "one more": (lambda a, n, _m: a.add(n, 1), False, False),
    "two more": (lambda a, n, _m: a.add(n, 2), False, True),
    "three times and 1": (lambda a, n, _m: a.add(known(a.mul(n, 3)), 1), False, False),
    "three times less 2": (lambda a, n, _m: a.sub(known(a.mul(n, 3)), 2), False, False),
    "three times less 1": (lambda a, n, _m: a.sub(known(a.mul(n, 3)), 1), False, True),
    "an even number": (lambda a, n, m: a.sub(known(a.mul(m, 4)), known(a.mul(n, 2))), False, True),
    "an odd number": (lambda a, n, m: a.add(known(a.mul(m, 4)), known(a.mul(n, 2)), 1), False, False),
}  # fmt: skip


@pytest.mark.parametrize(("term", "with_n", "never"), ONES.values(), ids=ONES)
def test_where_a_term_is_1(term: Callable[[Arithmetic, Size, Size], Size | None], with_n: bool, never: bool) -> None:
    a, n, m = made()
    found = term(a, n, m)
    assert isinstance(found, Symbol)
    assert found.equally_one is (n if with_n else found)
    assert found.is_never_1 is never


def test_numbers_too_large_for_a_product_are_not_followed() -> None:
    a, n, m = made()
    one, two, three = known(a.mul(n, 1 << 511)), known(a.mul(m, 1 << 511)), known(a.mul(m, 1 << 512))
    assert a.mul(one, two) is not None
    assert a.mul(one, three) is None is a.mul(three, one)
    assert a.quotient(known(a.mul(n, 3)), 2) is None is a.quotient(n, known(a.mul(n, 2)))
    ends = [a.difference_bounds(number, 0) for number in (1 << 128, (1 << 128) + 1, -(1 << 128), -(1 << 128) - 1)]
    assert ends == [(1 << 128, 1 << 128), (inf, inf), (-(1 << 128), -(1 << 128)), (-inf, -inf)]

"""Arithmetic with named sizes: names for one function of the sizes are one, and what is said of them holds."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable

import pytest

from graphfix.shapes import polynomial as poly
from graphfix.shapes.dim import UNKNOWN, Dim, Size, never_one, symbol, unit_name
from graphfix.shapes.name_table import LONGEST, NameTable
from graphfix.shapes.polynomial import FARTHEST
from graphfix.shapes.shape import stretches
from graphfix.shapes.terms import Terms, bounds
from tests.support.shape_dialect import of

N, M, S = (symbol(name) for name in "NMS")


def floor_of_convolution(terms: Terms, size: Size, kernel: int, stride: int, padding: int) -> Size:
    return terms.add(terms.floordiv(terms.add(size, 2 * padding - kernel), stride), 1)


ALIKE: dict[str, Callable[[Terms], tuple[Size, Size]]] = {
    "sums": lambda t: (t.mul(N, 4), t.add(N, N, N, N)),
    "an exact quotient": lambda t: (t.floordiv(t.mul(N, 4), 4), N),
    "a quotient by a name": lambda t: (t.quotient(t.mul(N, M, 8), t.mul(8, M)), N),
    "a quotient of sums": lambda t: (t.quotient(t.mul(t.add(N, M), t.add(N, 3)), t.add(N, 3)), t.add(M, N)),
    "a convolution of 3 and one of 1": lambda t: (
        floor_of_convolution(t, N, 3, 2, 1),
        floor_of_convolution(t, N, 1, 2, 0),
    ),
    "a convolution and SAME": lambda t: (floor_of_convolution(t, N, 3, 2, 1), t.ceildiv(N, 2)),
    "two strides and one": lambda t: (t.floordiv(t.floordiv(N, 2), 2), t.floordiv(N, 4)),
    "two rounded up": lambda t: (t.ceildiv(t.ceildiv(N, 2), 2), t.ceildiv(N, 4)),
    "a common factor": lambda t: (t.floordiv(t.add(t.mul(4, N), 2), 6), t.floordiv(t.add(t.mul(2, N), 1), 3)),
    "the parts of a whole": lambda t: (t.add(t.floordiv(N, 2), t.sub(N, t.floordiv(N, 2))), N),
    "padding to a multiple": lambda t: (
        t.quotient(t.add(N, t.mod(t.sub(7, t.mod(N, 7)), 7)), 7),
        t.ceildiv(N, 7),
    ),
    "past and what is new": lambda t: (t.sub(t.add(N, S), S), N),
    "the least and the greatest": lambda t: (t.add(t.minimum(N, M), t.maximum(N, M)), t.add(N, M)),
    "the least, turned": lambda t: (t.minimum(N, M), t.minimum(M, N)),
    "bounds that move along": lambda t: (t.add(t.maximum(t.sub(N, 1), 0), 1), t.maximum(N, 1)),
    "half is not more than all": lambda t: (t.minimum(t.floordiv(N, 2), N), t.floordiv(N, 2)),
    "a size is not negative": lambda t: (t.maximum(N, 0), N),
    "the rest of what is cut": lambda t: (t.sub(N, t.minimum(64, N)), t.maximum(t.sub(N, 64), 0)),
}


@pytest.mark.parametrize("make", ALIKE.values(), ids=ALIKE)
def test_one_function_is_one_name(make: Callable[[Terms], tuple[Size, Size]]) -> None:
    one, two = make(Terms())
    assert one == two != UNKNOWN


def test_of_two_sizes_whose_ranges_touch_one_is_the_greater() -> None:
    terms, small, large = Terms(), Dim(("S",), 0, 4), Dim(("L",), 4)
    for size, other in ((small, 4), (4, small), (small, large), (large, small)):
        greater, less = (4, small) if 4 in (size, other) else (large, small)
        assert terms.maximum(size, other) == greater
        assert terms.minimum(size, other) == less


UNLIKE: dict[str, Callable[[Terms], tuple[Size, Size]]] = {
    "rounded up and down": lambda t: (t.ceildiv(N, 2), t.floordiv(N, 2)),
    "other names": lambda t: (t.floordiv(N, 2), t.floordiv(M, 2)),
    "an inexact quotient": lambda t: (t.mul(t.floordiv(N, 2), 2), N),
    "other bounds": lambda t: (t.minimum(N, 64), N),
}


@pytest.mark.parametrize("make", UNLIKE.values(), ids=UNLIKE)
def test_other_functions_are_others(make: Callable[[Terms], tuple[Size, Size]]) -> None:
    one, two = make(Terms())
    assert one != two


def test_no_name_comes_of_what_has_none() -> None:
    terms = Terms()
    assert terms.add(N, UNKNOWN).parts == terms.minimum(Dim((), 0, 5), N).parts == ()  # type: ignore[union-attr]
    assert bounds(terms.minimum(Dim((), 0, 5), N)) == (0, 5)


def test_a_size_that_is_one_together_with_another_does_not_stretch_under_it() -> None:
    terms = Terms()
    cut = terms.minimum(64, N)
    assert unit_name(cut) == ("N",)  # type: ignore[arg-type]
    assert stretches([of(cut), of(N)], 0) == stretches([of(N), of(cut)], 0) == ("no",)
    assert stretches([of(terms.minimum(1, N)), of(N)], 0) == ("maybe",)
    assert stretches([of(terms.ceildiv(N, 2)), of(N)], 0) == ("maybe",)


def test_a_multiple_is_never_one() -> None:
    terms = Terms()
    assert never_one(terms.mul(8, N))
    assert never_one(terms.add(terms.mul(8, N), 3))
    assert not never_one(terms.sub(terms.mul(8, N), 7))
    assert never_one(terms.add(terms.mul(8, N), 9))  # at least 9
    assert not never_one(terms.mul(N, M))


# --- random arithmetic, held against numbers --------------------------------------------------------------------------

NUMBERS = (0, 1, 2, 3, 4, 7, 8, 64)
BINARY: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "maximum": max,
    "minimum": min,
}


def grown(terms: Terms, rng: random.Random, values: list[dict[str, int]]) -> list[tuple[Size, list[int]]]:
    """Sizes that random arithmetic makes of N and M and numbers, and what each is for the given values."""
    pool: list[tuple[Size, list[int]]] = [(symbol(name), [each[name] for each in values]) for name in "NM"]
    for _ in range(8):
        (a, ours), (b, theirs) = rng.choice(pool), rng.choice(pool)
        number = rng.choice(NUMBERS)
        if rng.random() < 0.4:
            b, theirs = number, [number] * len(values)
        kind = rng.choice([*BINARY, "floordiv", "mod", "ceildiv"])
        if kind in BINARY:
            pool.append((getattr(terms, kind)(a, b), [BINARY[kind](x, y) for x, y in zip(ours, theirs, strict=True)]))
        elif number > 0:
            rules = {"floordiv": lambda x, n: x // n, "mod": lambda x, n: x % n, "ceildiv": lambda x, n: -(-x // n)}
            pool.append((getattr(terms, kind)(a, number), [rules[kind](x, number) for x in ours]))
    return pool


@pytest.mark.alike(3)
@pytest.mark.parametrize("seed", range(300))
def test_what_is_said_of_random_arithmetic_holds(seed: int) -> None:
    rng, terms = random.Random(seed), Terms()  # noqa: S311 -- no secret
    values = [{"N": n, "M": m} for n in (0, 1, 2, 3, 7, 8, 63, 64, 65, 100) for m in (0, 1, 2, 5, 64)]
    held: dict[object, list[int]] = {}
    for size, numbers in grown(terms, rng, values):
        low, high = bounds(size)
        assert low <= min(numbers) <= max(numbers) <= high, (size, numbers)
        if isinstance(size, int):
            assert set(numbers) == {size}
        elif size.parts:
            assert held.setdefault(size.parts, numbers) == numbers, size.parts
            if never_one(size):
                assert 1 not in numbers, size.parts
            other = unit_name(size)
            if other != size.parts and other in (("N",), ("M",)):
                ones = [each[other[0]] == 1 for each in values]
                assert [number == 1 for number in numbers] == ones, size.parts


@pytest.mark.alike(4)
@pytest.mark.parametrize("seed", range(200))
def test_the_order_of_random_arithmetic_holds(seed: int) -> None:
    rng, terms = random.Random(seed), Terms()  # noqa: S311 -- no secret
    values = [{"N": n, "M": m} for n in range(0, 70, 3) for m in (0, 1, 2, 5, 64)]
    pool = grown(terms, rng, values)
    for _ in range(10):
        (a, ours), (b, theirs) = rng.choice(pool), rng.choice(pool)
        low, high = terms.order(a, b)
        differences = [x - y for x, y in zip(ours, theirs, strict=True)]
        assert low <= min(differences) <= max(differences) <= high, (a, b)


def test_what_is_positive_is_not_below_0_inside_of_a_quotient() -> None:
    terms = Terms()
    assert bounds(terms.floordiv(terms.maximum(terms.sub(Dim(("N",)), 1), 0), 8))[0] == 0


def test_a_quotient_by_what_is_no_positive_number_is_exact_or_a_name_of_its_own() -> None:
    terms = Terms()
    assert terms.floordiv(7, 2) == 3
    assert terms.floordiv(-7, 2) == -4
    assert terms.floordiv(7, 2, 1) == 4
    assert terms.floordiv(7, 1) == 7
    assert terms.floordiv(8, -2) == -4
    assert terms.text(terms.floordiv(7, -2)) == "{?=floordiv(7, -2)}"
    assert terms.text(terms.floordiv(7, 0)) == "{?=floordiv(7, 0)}"
    assert terms.text(terms.floordiv(5, 0, 2)) == "{?=floordiv(7, 0)}"
    assert terms.text(terms.floordiv(N, M)) == "{?=floordiv({N}, {M})}"
    assert terms.floordiv(terms.mul(N, M), M) == N
    assert terms.floordiv(terms.sub(terms.mul(N, M), 3), M, 3) == N
    assert terms.ceildiv(7, 2) == 4
    assert terms.ceildiv(8, 2) == 4


MISSING: dict[str, tuple[tuple[Size, ...], tuple[Size, ...], Callable[[Terms], Size]]] = {
    "numbers that divide": ((2, 6), (4,), lambda _: 3),
    "numbers that do not divide": ((2, 5), (4,), lambda _: UNKNOWN),
    "a product of nothing": ((), (), lambda _: 1),
    "a division by 0": ((2, 3), (0,), lambda _: UNKNOWN),
    "a name divided by 0": ((N, 3), (0,), lambda _: UNKNOWN),
    "names on both sides cancel": ((N, M, 8), (M, 4), lambda t: t.mul(N, 2)),
    "sizes without a name do not cancel": ((UNKNOWN, 8), (UNKNOWN,), lambda _: UNKNOWN),
    "a name divided by a number is rounded down": ((N,), (2,), lambda t: t.floordiv(N, 2)),
    "an exact quotient by a name": ((N, 6), (N, 3), lambda _: 2),
    "a quotient by a name that is not provable": ((N,), (M,), lambda _: UNKNOWN),
    "a size that occurs once cancels once": ((N, 4), (N, N), lambda _: UNKNOWN),
    "a range without a name": ((Dim((), 2, 7), 2), (2,), lambda _: Dim((), 2, 7)),
}
"""The sizes of an operand, the other sizes of a reshaped result, and the size that is left."""


@pytest.mark.parametrize(("source", "others", "size"), MISSING.values(), ids=MISSING)
def test_the_size_that_is_missing(
    source: tuple[Size, ...], others: tuple[Size, ...], size: Callable[[Terms], Size]
) -> None:
    terms = Terms()
    assert terms.missing_size(source, others) == size(terms)


def test_a_function_whose_text_would_be_too_long_has_no_name() -> None:
    terms = Terms()
    named = terms.opaque("k" * (LONGEST // 2), N, low=1, high=9)
    assert isinstance(named, Dim)
    assert named.parts
    assert named == terms.opaque("k" * (LONGEST // 2), N, low=1, high=9)
    assert terms.opaque("k" * LONGEST, N, low=1, high=9) == Dim((), 1, 9)
    assert terms.opaque("k", N, FARTHEST, low=1, high=9) != Dim((), 1, 9)
    assert terms.opaque("k", N, FARTHEST + 1, low=1, high=9) == Dim((), 1, 9)


def test_what_is_positive_of_what_has_a_sign_is_it_or_nothing() -> None:
    names = NameTable(ranges={("N",): (0, 9)})
    for at_least_0 in (poly.number(3), poly.ZERO, poly.name(("N",))):
        assert names.positive(at_least_0) == at_least_0
        assert names.positive(poly.scaled(at_least_0, -1)) == poly.ZERO


def test_the_longest_text_is_still_a_name() -> None:
    terms = Terms()
    short = terms.opaque("k", N, low=1, high=9)
    assert isinstance(short, Dim)
    (text,) = short.parts
    room = LONGEST - (len(text) - len("?=")) + len("k")
    assert terms.opaque("k" * room, N, low=1, high=9) != Dim((), 1, 9)
    assert terms.opaque("k" * (room + 1), N, low=1, high=9) == Dim((), 1, 9)

"""Arithmetic that would take too long, or make numbers of many digits, has no name; its bounds stay true."""

from __future__ import annotations

from math import inf

import pytest

from graphfix.shapes import polynomial as poly
from graphfix.shapes.dim import Dim, Size, symbol
from graphfix.shapes.name_table import capped
from graphfix.shapes.terms import MOST, Terms, bounds

SIZES = {
    "free": symbol("N"),
    "bounded": symbol("N", 2, 64),
    "at least 3": symbol("N", 3),
    "any number": Dim(("N",), -(2**63)),
    "unnamed": Dim((), 3),
    "unnamed, bounded": Dim((), -5, 9),
}
DIGITS = (127, 128, 129, 1023, 1024, 1200, 20_000)
"""Powers of 2: from 1024 on no float holds them, and the last has more digits than Python writes."""


@pytest.mark.parametrize("power", DIGITS)
@pytest.mark.parametrize("kind", SIZES)
def test_numbers_of_many_digits_are_computed_with(kind: str, power: int) -> None:
    size, terms = SIZES[kind], Terms()
    for number in (2**power, -(2**power)):
        product = terms.mul(number, size)
        made = [
            product,
            terms.add(number, size),
            terms.sub(size, number),
            terms.floordiv(terms.add(size, number), 3),
            terms.floordiv(size, abs(number)),
            terms.mod(size, abs(number)),
            terms.maximum(size, number),
            terms.minimum(product, number),
            terms.mul(product, product, product),
            terms.opaque("f", product, size),
        ]
        for each in made:
            low, high = bounds(each)
            assert low <= high
            assert isinstance(each, int) or each.hi is None or each.hi <= MOST


@pytest.mark.parametrize("kind", SIZES)
def test_squares_of_squares_have_short_bounds(kind: str) -> None:
    terms, size = Terms(), SIZES[kind]
    for _ in range(200):
        size = terms.add(terms.mul(size, size), 1)
        assert isinstance(size, Dim)
        assert abs(size.lo) <= MOST
        assert size.hi is None or abs(size.hi) <= MOST
    assert size.hi is None


@pytest.mark.parametrize("count", [2, 3, 4])
def test_few_sums_are_multiplied_out(count: int) -> None:
    terms = Terms()
    product = terms.mul(*sums(terms, count))
    assert isinstance(product, Dim)
    assert len(product.parts) == 1
    assert terms.quotient(product, sums(terms, count)[0]) == terms.mul(*sums(terms, count)[1:])


@pytest.mark.ci
@pytest.mark.parametrize("count", [16, 20, 30, 64])
def test_many_sums_are_not(count: int) -> None:
    terms = Terms()
    product = terms.mul(*sums(terms, count))
    assert isinstance(product, Dim)
    assert product.parts == ()
    assert (product.lo, product.hi) == (min(2**count, MOST), None)


def sums(terms: Terms, count: int) -> list[Size]:
    return [terms.add(symbol(f"N{at}", 1), symbol(f"M{at}", 1)) for at in range(count)]


def test_a_power_of_what_is_positive_is_not_multiplied_out() -> None:
    terms = Terms()
    whole = terms.add(*[symbol(name) for name in "ABCDEFGHIJ"])
    positive = terms.maximum(terms.sub(whole, symbol("Z")), 0)
    power = terms.mul(*[positive] * 8)
    assert isinstance(power, Dim)
    assert power.parts == ()


def test_products_of_monomials_are_counted() -> None:
    long = tuple(((("N" * at,),), 1) for at in range(1, 66))
    with pytest.raises(poly.TooLongError):
        poly.multiplied(long, long)
    assert len(poly.multiplied(long[:24], long[:24])) == 300  # 24 * 25 / 2


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((-3, 5), (-3, 5)),
        ((-inf, inf), (-inf, inf)),
        ((-(2**200), 2**200), (-inf, inf)),
        ((2**200, inf), (2**128, inf)),
        ((-inf, -(2**200)), (-inf, -(2**128))),
        ((2**200, 2**201), (2**128, inf)),
    ],
)
def test_capped_intervals_hold_the_ones_before(given: tuple[float, float], expected: tuple[float, float]) -> None:
    assert capped(*given) == expected

"""Polynomials over sizes, against their values at numbers, and as a report prints them."""

from __future__ import annotations

import pytest

from graphfix.checker.proof.core import polynomials as poly
from graphfix.checker.proof.core.arithmetic import Arithmetic
from graphfix.checker.proof.core.polynomials import Polynomial
from graphfix.checker.proof.core.sizes import Algebra, Size, Symbol

ALGEBRA = Algebra()
ARITHMETIC = Arithmetic(ALGEBRA)
N, M, K = (ALGEBRA.symbol((name,), name) for name in "NMK")


def of(*terms: tuple[int, str]) -> Polynomial:
    """Return a polynomial: each term is its number and its symbols, `(2, "NM")` for 2*N*M."""
    names = {"N": N, "M": M, "K": K}
    one: Polynomial = (((), 1),)
    parts = []
    for number, symbols in terms:
        part: Polynomial = one
        for name in symbols:
            part = poly.times(part, poly.polynomial(names[name]))
        parts.append(poly.scaled(part, number))
    return poly.total(parts)


SHOWN = {
    "0": of(),
    "1": of((1, "")),
    "-1": of((-1, "")),
    "N": of((1, "N")),
    "-N": of((-1, "N")),
    "2*N-3": of((-3, ""), (2, "N")),
    "N*M+M+N+1": of((1, ""), (1, "N"), (1, "M"), (1, "MN")),
    "K*K-12*N*M": of((-12, "MN"), (1, "KK")),
}


@pytest.mark.parametrize("text", SHOWN)
def test_a_polynomial_is_printed_from_the_highest_degree_down(text: str) -> None:
    assert poly.shown(SHOWN[text]) == text


def test_terms_of_equal_symbols_are_one_and_those_that_cancel_are_none() -> None:
    assert of((2, "NM"), (3, "MN")) == of((5, "NM"))
    assert of((2, "N"), (-2, "N")) == () == poly.number_term(0)
    assert of((2, "N"), (1, "M"), (-2, "N")) == of((1, "M"))
    assert poly.difference(of((1, "N"), (4, "")), of((1, "N"))) == of((4, ""))
    assert poly.times(of((1, "N"), (2, "")), of((1, "N"), (-2, ""))) == of((1, "NN"), (-4, ""))
    assert poly.times(of((3, "")), of((2, "N"))) == of((6, "N"))
    assert poly.times(of((2, "N")), of((3, ""))) == of((6, "N"))


QUOTIENTS: dict[str, tuple[Polynomial, Polynomial, Polynomial | None]] = {
    "a number": (of((6, "N")), of((3, "")), of((2, "N"))),
    "a number with a rest": (of((6, "N"), (1, "")), of((3, "")), None),
    "a symbol": (of((6, "NM")), of((2, "M")), of((3, "N"))),
    "another symbol": (of((6, "NM")), of((2, "K")), None),
    "a symbol twice": (of((6, "NM")), of((2, "NN")), None),
    "a sum": (of((1, "NN"), (3, "N"), (2, "")), of((1, "N"), (1, "")), of((1, "N"), (2, ""))),
    "a sum with a rest": (of((1, "NN"), (3, "N"), (3, "")), of((1, "N"), (1, "")), None),
    "nothing": (of(), of((1, "N")), of()),
    "by nothing": (of((1, "N")), of(), None),
    "nothing by nothing": (of(), of(), None),
}


@pytest.mark.parametrize(("dividend", "divisor", "expected"), QUOTIENTS.values(), ids=QUOTIENTS)
def test_a_quotient_is_exact_or_none(dividend: Polynomial, divisor: Polynomial, expected: Polynomial | None) -> None:
    assert poly.exact_quotient(dividend, divisor) == expected


def positive(size: Size) -> Symbol:
    """Return the symbol of max(0, `size` - 5)."""
    found = ARITHMETIC.greater(known(ARITHMETIC.sub(size, 5)), 0)
    assert isinstance(found, Symbol)
    return found


def known(size: Size | None) -> Size:
    assert size is not None
    return size


def test_each_positive_part_is_looked_at_as_nothing_and_as_itself() -> None:
    one, two = positive(N), positive(M)
    whole = poly.polynomial(known(ARITHMETIC.add(one, two, K)))
    expected = [
        of((1, "K")), of((1, "K"), (1, "M"), (-5, "")), of((1, "K"), (1, "N"), (-5, "")),
        of((1, "K"), (1, "N"), (1, "M"), (-10, "")),
    ]  # fmt: skip
    assert list(poly.cases(whole)) == expected
    assert list(poly.cases(of((1, "K")))) == [of((1, "K"))]


def test_of_too_many_positive_parts_no_case_is_looked_at() -> None:
    symbols = [ALGEBRA.symbol(("size", at), f"n{at}") for at in range(4)]
    three, four = (poly.polynomial(known(ARITHMETIC.add(*map(positive, symbols[:end])))) for end in (3, 4))
    assert len(poly.cases(three)) == 8
    assert poly.cases(four) == (four,)


def test_polynomials_take_the_place_of_symbols() -> None:
    whole = of((2, "NM"), (1, "N"), (7, ""))
    assert poly.replaced(whole, {N: of((1, "K"), (1, ""))}) == of((2, "KM"), (2, "M"), (1, "K"), (8, ""))
    assert poly.replaced(whole, {N: (), M: of((1, "K"))}) == of((7, ""))
    assert poly.replaced(whole, {}) == whole


def test_bits_are_those_of_the_largest_term() -> None:
    assert poly.bits(of((4, "NM"), (1, "N"), (100, "")), 31) == 2 * 31 + 3
    assert poly.bits(of((-100, ""), (1, "N")), 0) == 7
    assert poly.bits((), 31) == 0


def test_products_of_too_many_symbols_or_too_large_numbers_are_not_followed() -> None:
    many, few, large = of((1, "N" * 40)), of((1, "N" * 24)), of((1 << 600, "N"))
    assert poly.can_multiply(many, few)
    assert not poly.can_multiply(many, of((1, "N" * 25), (1, "")))
    assert not poly.can_multiply(of((1, "N" * 25), (1, "")), many)
    assert poly.can_multiply(large, of((1 << 400, "")))
    assert not poly.can_multiply(large, large)
    assert poly.can_multiply(large, ())
    assert poly.can_multiply((), large)


def test_only_one_symbol_of_a_kind_is_alone() -> None:
    symbol = positive(N)
    assert poly.is_single_symbol((symbol,), poly.POSITIVE)
    assert not poly.is_single_symbol((symbol,), poly.FLOOR)
    assert not poly.is_single_symbol((symbol, N), poly.POSITIVE)
    assert not poly.is_single_symbol((), poly.POSITIVE)
    assert poly.polynomial_of(symbol) == of((1, "N"), (-5, ""))
    quotient = ARITHMETIC.floordiv(N, 3)
    assert isinstance(quotient, Symbol)
    assert (poly.polynomial_of(quotient), poly.divisor(quotient)) == (of((1, "N")), 3)


def test_coefficients_are_listed_from_the_top() -> None:
    assert poly.coefficients_from_highest(of((5, ""), (2, "N"), (3, "NM"))) == [3, 2, 5]
    assert poly.coefficients_from_highest(of((2, "N"))) == [2, 0]
    assert poly.coefficients_from_highest(()) == [0]

"""Polynomials over the names of sizes, with integer coefficients: one canonical form for each function of the names.

4N and N + N + N + N are equal polynomials. (4N + 5) // 4 is N + 1, with the remainder 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from math import gcd
from typing import TypeAlias

from graphfix.shapes.dim import Parts

Monomial: TypeAlias = tuple[Parts, ...]
"""A product of sorted names, in which a name may occur several times. () for a number alone."""
Polynomial: TypeAlias = tuple[tuple[Monomial, int], ...]
"""Pairs (monomial, coefficient), sorted by degree and then by names. Coefficients are not 0."""

ZERO: Polynomial = ()
MOST_MONOMIALS = 24
"""The largest number of terms.

No model's shape arithmetic has more, and the product of two polynomials may square it.
"""
MOST_PRODUCTS = 1 << 12
"""The largest number of products of terms in one multiplication. Two polynomials of allowed length need 24 * 24."""

FARTHEST = 1 << 128
"""The largest coefficient in a name, and the largest bound of an interval. All real sizes are far smaller."""


class TooLongError(Exception):
    """Raised for arithmetic that would need a name that is too long, or too much work."""


def number(value: int) -> Polynomial:
    """Return a number as a polynomial."""
    return (((), value),) if value else ZERO


def name(parts: Parts) -> Polynomial:
    """Return a name as a polynomial."""
    return (((parts,), 1),)


def collected(terms: Iterable[tuple[Monomial, int]]) -> Polynomial:
    """Return the sum of terms (monomial, coefficient) as a polynomial. Terms with equal monomials are added."""
    total: dict[Monomial, int] = {}
    for monomial, factor in terms:
        total[monomial] = total.get(monomial, 0) + factor
    return _ordered(total)


def _ordered(total: dict[Monomial, int]) -> Polynomial:
    found = [term for term in total.items() if term[1]]
    if len(found) > 1:
        found.sort(key=_degree_first)
    return tuple(found)


def _degree_first(term: tuple[Monomial, int]) -> tuple[int, Monomial]:
    """Return the sort key of a term.

    Multiplication by a monomial preserves this order, which long division requires.
    """
    return len(term[0]), term[0]


def added(*polynomials: Polynomial) -> Polynomial:
    """Return the sum of the polynomials."""
    some = [polynomial for polynomial in polynomials if polynomial]
    return collected(chain.from_iterable(some)) if len(some) > 1 else some[0] if some else ZERO


def scaled(polynomial: Polynomial, by: int) -> Polynomial:
    """Return the polynomial times a number."""
    if by == 1:
        return polynomial
    return tuple([(monomial, factor * by) for monomial, factor in polynomial]) if by else ZERO


def subtracted(one: Polynomial, two: Polynomial) -> Polynomial:
    """Return `one` - `two`."""
    total = dict(one)
    for monomial, factor in two:
        total[monomial] = total.get(monomial, 0) - factor
    return _ordered(total) if two else one


def multiplied(one: Polynomial, two: Polynomial) -> Polynomial:
    """Return the product. Raise TooLongError beyond MOST_PRODUCTS: 20 sums of two names have 2**20 monomials."""
    for factor, other in ((one, two), (two, one)):
        number_alone = constant(factor)
        if number_alone is not None:
            return scaled(other, number_alone)
    if len(one) * len(two) > MOST_PRODUCTS:
        raise TooLongError
    return collected((tuple(sorted((*a, *b))), x * y) for a, x in one for b, y in two)


def constant(polynomial: Polynomial) -> int | None:
    """Return the value of a polynomial that is a number; None if it contains names."""
    if not polynomial:
        return 0
    return polynomial[0][1] if len(polynomial) == 1 and not polynomial[0][0] else None


def number_in(polynomial: Polynomial) -> int:
    """Return the constant term."""
    return polynomial[0][1] if polynomial and not polynomial[0][0] else 0


def bare_name(polynomial: Polynomial) -> Parts | None:
    """Return the name if the polynomial is a single name with coefficient 1; else None."""
    if len(polynomial) != 1 or polynomial[0][1] != 1 or len(polynomial[0][0]) != 1:
        return None
    return polynomial[0][0][0]


def names(polynomial: Polynomial) -> list[Parts]:
    """Return the names in the polynomial, each once."""
    return list(dict.fromkeys(part for monomial, _ in polynomial for part in monomial))


def divided(polynomial: Polynomial, by: int) -> tuple[Polynomial, Polynomial]:
    """Return (quotient, remainder) of the division by a positive number, each coefficient divided and rounded down.

    The coefficients of the remainder are at least 0 and less than `by`.
    """
    quotient = tuple([(monomial, factor // by) for monomial, factor in polynomial if factor // by])
    return quotient, tuple([(monomial, factor % by) for monomial, factor in polynomial if factor % by])


def quotient(dividend: Polynomial, divisor: Polynomial) -> Polynomial | None:
    """Return the polynomial whose product with the divisor is the dividend; None if there is none. Long division."""
    if not divisor:
        return None
    (leading, number_of_it) = divisor[-1]
    left = dividend
    result: list[tuple[Monomial, int]] = []
    while left:
        monomial, factor = left[-1]
        rest = without(monomial, leading)
        if rest is None or factor % number_of_it or len(result) > MOST_MONOMIALS:
            return None
        result.append((rest, factor // number_of_it))
        left = subtracted(left, multiplied(divisor, (result[-1],)))
    return collected(result)


def without(monomial: Monomial, factors: Monomial) -> Monomial | None:
    """Return the product without these factors; None if one of the factors is missing."""
    left = list(monomial)
    for factor in factors:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)


def substituted(polynomial: Polynomial, values: Mapping[Parts, Polynomial]) -> Polynomial:
    """Return the polynomial with names replaced by polynomials. Raise TooLongError as `multiplied` does."""
    if not any(part in values for monomial, _ in polynomial for part in monomial):
        return polynomial
    total: list[tuple[Monomial, int]] = []
    for monomial, factor in polynomial:
        product = number(factor)
        for part in monomial:
            product = multiplied(product, values.get(part, name(part)))
        total += product
    return collected(total)


def common_factor(polynomial: Polynomial) -> int:
    """Return the greatest common divisor of the coefficients of terms with names; 0 if there are no such terms."""
    return gcd(*[factor for monomial, factor in polynomial if monomial])


def text(polynomial: Polynomial) -> str:
    """Return the polynomial as text, such as `{N}*{N}+2*{N}-1`.

    Raise TooLongError for a coefficient beyond FARTHEST.

    Names are in braces, because they may contain any characters.
    """
    if any(abs(factor) > FARTHEST for _, factor in polynomial):
        raise TooLongError
    found = "".join(_term_text(monomial, factor) for monomial, factor in reversed(polynomial))
    return found.removeprefix("+") or "0"


def _term_text(monomial: Monomial, factor: int) -> str:
    product = "*".join("{" + "|".join(parts) + "}" for parts in monomial)
    sign = "-" if factor < 0 else "+"
    if not product:
        return f"{sign}{abs(factor)}"
    return f"{sign}{product}" if abs(factor) == 1 else f"{sign}{abs(factor)}*{product}"

"""Polynomials over the names of sizes, with whole coefficients: one canonical form for one function of the names.

4N and N + N + N + N are one polynomial; (4N + 5) // 4 is N + 1, and 1 // 4 is left of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from math import gcd
from typing import TypeAlias

from graphfix.shapes.dim import Parts

Monomial: TypeAlias = tuple[Parts, ...]
"""Sorted names that are multiplied, one as often as it is a factor; () for a number alone."""
Polynomial: TypeAlias = tuple[tuple[Monomial, int], ...]
"""(monomial, coefficient), by degree and then by names; no coefficient is 0."""

ZERO: Polynomial = ()
MOST_MONOMIALS = 24
"""Longer ones are not followed: no shape arithmetic of a model is as long, and a product of two may square it."""
MOST_PRODUCTS = 1 << 12
"""Products of monomials in one multiplication of two polynomials: two that are followed have 24 * 24 at most."""

FARTHEST = 1 << 128
"""The greatest coefficient that is written, and the greatest bound of an interval: no size is near it."""


class TooLongError(Exception):
    """Arithmetic that is too long to follow: its name would be, or the work that it takes."""


def number(value: int) -> Polynomial:
    """A number."""
    return (((), value),) if value else ZERO


def name(parts: Parts) -> Polynomial:
    """A name alone."""
    return (((parts,), 1),)


def collected(terms: Iterable[tuple[Monomial, int]]) -> Polynomial:
    """The sum of products of names and numbers."""
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
    """The order of terms: products of it keep it, as a long division needs."""
    return len(term[0]), term[0]


def added(*polynomials: Polynomial) -> Polynomial:
    """The sum."""
    some = [polynomial for polynomial in polynomials if polynomial]
    return collected(chain.from_iterable(some)) if len(some) > 1 else some[0] if some else ZERO


def scaled(polynomial: Polynomial, by: int) -> Polynomial:
    """The polynomial times a number."""
    if by == 1:
        return polynomial
    return tuple([(monomial, factor * by) for monomial, factor in polynomial]) if by else ZERO


def subtracted(one: Polynomial, two: Polynomial) -> Polynomial:
    """The difference."""
    total = dict(one)
    for monomial, factor in two:
        total[monomial] = total.get(monomial, 0) - factor
    return _ordered(total) if two else one


def multiplied(one: Polynomial, two: Polynomial) -> Polynomial:
    """The product. Raises TooLongError beyond MOST_PRODUCTS: 20 sums of two names have 2**20 monomials."""
    for factor, other in ((one, two), (two, one)):
        number_alone = constant(factor)
        if number_alone is not None:
            return scaled(other, number_alone)
    if len(one) * len(two) > MOST_PRODUCTS:
        raise TooLongError
    return collected((tuple(sorted((*a, *b))), x * y) for a, x in one for b, y in two)


def constant(polynomial: Polynomial) -> int | None:
    """The number that it is; None where it has names."""
    if not polynomial:
        return 0
    return polynomial[0][1] if len(polynomial) == 1 and not polynomial[0][0] else None


def number_in(polynomial: Polynomial) -> int:
    """The number that is added to its names."""
    return polynomial[0][1] if polynomial and not polynomial[0][0] else 0


def bare_name(polynomial: Polynomial) -> Parts | None:
    """The name that it is, alone and once; None for anything else."""
    if len(polynomial) != 1 or polynomial[0][1] != 1 or len(polynomial[0][0]) != 1:
        return None
    return polynomial[0][0][0]


def names(polynomial: Polynomial) -> list[Parts]:
    """The names in it, each once."""
    return list(dict.fromkeys(part for monomial, _ in polynomial for part in monomial))


def divided(polynomial: Polynomial, by: int) -> tuple[Polynomial, Polynomial]:
    """What a number divides whatever the names are, and the rest: coefficients from 0 up to below the number."""
    quotient = tuple([(monomial, factor // by) for monomial, factor in polynomial if factor // by])
    return quotient, tuple([(monomial, factor % by) for monomial, factor in polynomial if factor % by])


def quotient(dividend: Polynomial, divisor: Polynomial) -> Polynomial | None:
    """The polynomial whose product with the divisor is the dividend; None where there is none. Long division."""
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
    """What is left of a product when these factors are cancelled; None when one of them is not there."""
    left = list(monomial)
    for factor in factors:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)


def substituted(polynomial: Polynomial, values: Mapping[Parts, Polynomial]) -> Polynomial:
    """The polynomial with polynomials in the place of names. Raises TooLongError as `multiplied` does."""
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
    """The greatest number that divides every coefficient of a name; 0 where there is none."""
    return gcd(*[factor for monomial, factor in polynomial if monomial])


def text(polynomial: Polynomial) -> str:
    """Write it: `{N}*{N}+2*{N}-1`, names in braces, which may hold anything. Raises TooLongError beyond FARTHEST."""
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

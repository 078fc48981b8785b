"""Polynomials over the symbols of a proof: integer coefficients, and terms in one canonical order."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from graphfix.checker.proof.core.sizes import Symbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from graphfix.checker.proof.core.sizes import Size

Factors: TypeAlias = tuple[Symbol, ...]
"""The symbols of a product, sorted by number. A symbol is repeated as often as it is a factor."""
Polynomial: TypeAlias = "tuple[tuple[Factors, int], ...]"
"""Products with their coefficients, sorted by degree, then by the symbols' numbers.

The empty product is the constant.
"""

MOST_TERMS = 24
"""The most terms of a polynomial that is computed."""
MOST_FACTORS = 64
"""The most symbols in a product. Without a limit, the number doubles each time a size is multiplied by itself."""
MOST_BITS = 1 << 10
"""The most bits of a coefficient.

Without a limit, the number of bits doubles each time a size is multiplied by itself.
"""
MOST_CASES = 3
"""The most symbols for max(0, P) in one polynomial for which both cases (0 and P) are examined."""
SUM, FLOOR, POSITIVE = "sum", "floor", "positive"


def polynomial(size: Size) -> Polynomial:
    """Return a size as a polynomial."""
    if isinstance(size, int):
        return number_term(size)
    return size.key[1] if size.key[0] == SUM else (((size,), 1),)  # type: ignore[return-value]  # a key may contain any object


def polynomial_of(symbol: Symbol) -> Polynomial:
    """Return the polynomial P inside a symbol for floor(P / n) or max(0, P)."""
    return symbol.key[1]  # type: ignore[return-value]  # a key may contain any object


def divisor(symbol: Symbol) -> int:
    """Return the divisor n of a symbol for floor(P / n)."""
    return symbol.key[2]  # type: ignore[return-value]  # a key may contain any object


def is_single_symbol(factors: Factors, kind: str) -> bool:
    """Return whether a product is one single symbol of this kind (`FLOOR`, `POSITIVE`, ..)."""
    return len(factors) == 1 and factors[0].key[0] == kind


def number_term(number: int) -> Polynomial:
    """Return a number as a polynomial; 0 is the empty polynomial."""
    return (((), number),) if number else ()


def _collected(terms: Sequence[tuple[Factors, int]]) -> Polynomial:
    """Return the sum of these terms as a polynomial.

    The coefficients of equal products are added, and terms of coefficient 0 are dropped.
    """
    if len(terms) == 1 and terms[0][1]:
        return tuple(terms)
    total: dict[Factors, int] = {}
    for factors, number in terms:
        total[factors] = total.get(factors, 0) + number
    kept = [term for term in total.items() if term[1]]
    return tuple(sorted(kept, key=_by_degree) if len(kept) > 1 else kept)


def _by_degree(term: tuple[Factors, int]) -> tuple[int, list[int]]:
    return len(term[0]), [symbol.number for symbol in term[0]]


def total(parts: Iterable[Polynomial]) -> Polynomial:
    """Return the sum of several polynomials."""
    return _collected([term for part in parts for term in part])


def scaled(polynomial: Polynomial, by: int) -> Polynomial:
    """Return the polynomial times the number `by`, which must not be 0."""
    return tuple([(factors, number * by) for factors, number in polynomial])


def difference(one: Polynomial, two: Polynomial) -> Polynomial:
    """Return polynomial `one` minus polynomial `two`."""
    return total((one, scaled(two, -1)))


def times(one: Polynomial, two: Polynomial) -> Polynomial:
    """Return the product of two polynomials."""
    if len(one) == len(two) == 1:  # nearly every product
        return ((_joined(one[0][0], two[0][0]), one[0][1] * two[0][1]),)
    return _collected([(_joined(a, b), x * y) for a, x in one for b, y in two])


def _joined(one: Factors, two: Factors) -> Factors:
    """Return the product of two products of symbols, with the symbols sorted by number."""
    if not one or not two:
        return one or two
    return tuple(sorted((*one, *two), key=lambda symbol: symbol.number))


def exact_quotient(dividend: Polynomial, divisor: Polynomial) -> Polynomial | None:
    """Return the polynomial q with integer coefficients for which q * divisor = dividend; None if none is found.

    Return None also if `divisor` is 0, or if q has too many terms. The division starts with the terms of highest
    degree.
    """
    found: list[tuple[Factors, int]] = []
    while dividend and divisor:
        (factors, number), (by, of) = dividend[-1], divisor[-1]
        left = _cancelled(factors, by)
        if left is None or number % of or len(found) > MOST_TERMS:
            return None
        found.append((left, number // of))
        dividend = difference(dividend, times(divisor, (found[-1],)))
    return _collected(found) if divisor else None


def _cancelled(factors: Factors, by: Factors) -> Factors | None:
    """Return `factors` without the factors `by`; None if one of them is missing."""
    left = list(factors)
    for symbol in by:
        if symbol not in left:
            return None
        left.remove(symbol)
    return tuple(left)


def cases(polynomial: Polynomial) -> Sequence[Polynomial]:
    """Return the polynomials that arise if each symbol for max(0, P) is replaced by 0 or by P, in all combinations.

    For all sizes, one of the results has the same value as `polynomial`. A bound that is true for every result is
    therefore true for `polynomial`. With more than MOST_CASES symbols of this kind, only `polynomial` itself is
    returned.
    """
    split = dict.fromkeys([s for factors, _ in polynomial for s in factors if s.key[0] == POSITIVE])
    if not split or len(split) > MOST_CASES:
        return (polynomial,)
    choices = product(*(((), polynomial_of(symbol)) for symbol in split))
    return [replaced(polynomial, dict(zip(split, chosen, strict=True))) for chosen in choices]


def can_multiply(one: Polynomial, two: Polynomial) -> bool:
    """Return whether the product of two polynomials has at most MOST_FACTORS symbols and MOST_BITS bits a term."""
    if not one or not two:
        return True
    # the last term has the highest degree, because terms are sorted by degree
    longest = len(one[-1][0]) + len(two[-1][0])
    return longest <= MOST_FACTORS and bits(one, 0) + bits(two, 0) <= MOST_BITS


def replaced(polynomial: Polynomial, values: Mapping[Symbol, Polynomial]) -> Polynomial:
    """Return the polynomial with each symbol in `values` replaced by its polynomial."""
    parts: list[Polynomial] = []
    for factors, number in polynomial:
        part = number_term(number)
        for symbol in factors:
            part = times(part, values.get(symbol, (((symbol,), 1),)))
        parts.append(part)
    return total(parts)


def bits(polynomial: Polynomial, each: int) -> int:
    """Return an upper limit for the number of bits of any single term if each symbol's value has `each` bits."""
    return max((len(factors) * each + abs(number).bit_length() for factors, number in polynomial), default=0)


def coefficients_from_highest(polynomial: Polynomial) -> list[int]:
    """Return the coefficients of all products from the highest degree down, then the constant term (0 if missing).

    Of two equal forms of a quotient, the form with the lesser list is used.
    """
    return [number for factors, number in reversed(polynomial) if factors] + [dict(polynomial).get((), 0)]


def shown(polynomial: Polynomial) -> str:
    """Return a polynomial as reports print it, such as `2*N-1`."""
    return "".join(_shown_term(*term) for term in reversed(polynomial)).removeprefix("+") or "0"


def _shown_term(factors: Factors, number: int) -> str:
    product = "*".join([*([str(abs(number))] if abs(number) > 1 or not factors else []), *map(repr, factors)])
    return f"{'-' if number < 0 else '+'}{product}"

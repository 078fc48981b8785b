"""Arithmetic on sizes in the proof: equal functions of the same sizes become one term.

A term is a polynomial over symbols, with integer coefficients. Two kinds of symbols are functions that a polynomial
can't express: floor(P / n) and max(0, P). They have a normal form:

- a floor(..) is never a term of the polynomial inside another floor(..), unless it is multiplied;
- the part of P that n divides evenly is moved out of floor(P / n);
- of two forms that can be computed from each other, such as max(0, P) and max(0, -P), only one is used.

All other symbols are sizes, which are not negative.
"""

from __future__ import annotations

from math import gcd, inf, prod
from typing import TYPE_CHECKING, TypeAlias

from graphfix.checker.proof.core import polynomials as poly
from graphfix.checker.proof.core.sizes import Symbol, add_once, is_executed_with, never_1
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from graphfix.checker.proof.core.polynomials import Polynomial
    from graphfix.checker.proof.core.sizes import Algebra, Place, Size, Sizes

Interval: TypeAlias = "tuple[float, float]"
"""A lower and an upper bound: integers of any size, or infinite if no bound is known."""
_FARTHEST = 1 << 128
"""Bounds beyond this number count as infinite. No size is near it, and a float can represent it.

A sum that is doubled 1,300 times has coefficients that no float can represent.
"""

ELEMENT = "element"
"""The first part of the key of a symbol for an unknown element of a computed shape.

The unknown number may be negative. At a place where a value has this number as a size, it is not negative.
"""


@dataclass(slots=True, eq=False)
class Arithmetic:
    """Sums, products, quotients, maximum and minimum of sizes, over the symbols of one proof.

    Functions return None for a result that is not followed: it has too many terms or factors, or its numbers are too
    large.
    """

    algebra: Algebra
    _terms: dict[Polynomial, Size] = field(default_factory=dict)
    _intervals: dict[Polynomial, Interval] = field(default_factory=dict)
    _uses_ranges: bool = False
    """Whether `_range` uses the ranges that the user requested (`least_in_ranges` sets this)."""
    _answers: dict[tuple[str, Sizes], Size | None] = field(default_factory=dict)
    _seen: dict[Symbol, list[Place]] = field(default_factory=dict)
    """Terms that are sizes of a value, with the bodies that compute the value: there these terms are not negative."""
    _needed: dict[Symbol, list[Place]] = field(default_factory=dict)
    """Terms that must not be negative, with the bodies that contain a node which fails if they are."""
    newly_needed: Symbol | None = None
    """A term that must not be negative in the second file alone; None if there is no such term."""

    # --- what rules ask for -------------------------------------------------------------------------------------------

    def add(self, *sizes: Size) -> Size | None:
        """Return the sum of sizes; None if the result has too many terms."""
        return self._cached(self._sum, *sizes)

    def _sum(self, *sizes: Size) -> Size | None:
        return self._term(poly.total(map(poly.polynomial, sizes)))

    def sub(self, one: Size, two: Size) -> Size | None:
        """Return `one` minus `two`; None if the result has too many terms."""
        return self._term(poly.difference(poly.polynomial(one), poly.polynomial(two)))

    def mul(self, *sizes: Size) -> Size | None:
        """Return the product of sizes; None if the result has too many terms or factors, or too large numbers."""
        return self._cached(self._product, *sizes)

    def _product(self, *sizes: Size) -> Size | None:
        """Return the product of sizes, uncached; None if it has too many terms or factors, or too large numbers."""
        product: Polynomial = poly.number_term(1)
        for size in sizes:
            factor = poly.polynomial(size)
            if not poly.can_multiply(product, factor):
                return None
            product = poly.times(product, factor)
            if len(product) > poly.MOST_TERMS:
                return None
        return self._term(product)

    def quotient(self, one: Size, two: Size) -> Size | None:
        """Return the exact quotient `one / two`; None if the quotient is not a polynomial."""
        found = poly.exact_quotient(poly.polynomial(one), poly.polynomial(two))
        return None if found is None else self._term(found)

    def inferred_size(self, sizes: Sequence[Size], others: Sequence[Size]) -> Size | None:
        """Return the size that a Reshape infers for the -1 of its target; None if this size can't be written as a term.

        `sizes` is the operand's shape, and `others` are the target's sizes except the -1. The caller makes sure that no
        size in `others` is 0. If the product of `others` is a number that does not divide the other product for all
        sizes, the quotient is rounded down, because the model fails at sizes with a remainder.
        """
        remaining, others_left = list(sizes), []
        for size in others:
            if size in remaining:
                remaining.remove(size)
            else:
                others_left.append(size)
        dividend, by = self.mul(*remaining), self.mul(*others_left)
        if dividend is None or by is None:
            return None
        exact = self.quotient(dividend, by)
        if exact is not None:
            return exact
        for same in _equal_shapes(remaining):
            whole_again = self.mul(*same)
            exact = None if whole_again is None else self.quotient(whole_again, by)
            if exact is not None:
                return exact
        return self.floordiv(dividend, by) if isinstance(by, int) and not isinstance(dividend, int) else None

    def floordiv(self, size: Size, by: int) -> Size | None:
        """Return `size / by` rounded down, where `by` is above 0; None if the result has too many terms."""
        return size // by if isinstance(size, int) else self._cached(self._divided, size, by, 0)

    def ceildiv(self, size: Size, by: int) -> Size | None:
        """Return `size / by` rounded up, where `by` is above 0; None if the result has too many terms."""
        return -(-size // by) if isinstance(size, int) else self._cached(self._divided, size, by, by - 1)

    def _divided(self, size: Size, by: int, added: int) -> Size | None:
        """Return floor((size + added) / by); None if the result has too many terms."""
        return self._term(self._floor(poly.total((poly.polynomial(size), poly.number_term(added))), by))

    def mod(self, size: Size, by: int) -> Size | None:
        """Return `size - by * floor(size / by)`, the remainder; None if the result has too many terms."""
        dividend = poly.polynomial(size)
        return self._term(poly.difference(dividend, poly.scaled(self._floor(dividend, by), by)))

    def greater(self, one: Size, two: Size) -> Size | None:
        """Return the maximum of two sizes; None if the result has too many terms."""
        low = poly.polynomial(two)
        return self._term(poly.total((low, self._positive(poly.difference(poly.polynomial(one), low)))))

    def lesser(self, one: Size, two: Size) -> Size | None:
        """Return the minimum of two sizes; None if the result has too many terms."""
        high = poly.polynomial(one)
        return self._term(poly.difference(high, self._positive(poly.difference(high, poly.polynomial(two)))))

    def difference_bounds(self, one: Size, two: Size) -> Interval:
        """Return a lower and an upper bound of `one - two`.

        Equal sizes return 0 and 0; an unknown bound is infinite.
        """
        if one is two:
            return 0, 0
        return self._interval(poly.difference(poly.polynomial(one), poly.polynomial(two)))

    def least(self, size: Size) -> float:
        """Return a lower bound of a term; minus infinity if none is known."""
        if isinstance(size, int):
            return size
        return self._interval(poly.polynomial(size))[0]

    def least_in_ranges(self, size: Size) -> float:
        """Return a lower bound of a term within the ranges of sizes that the user requested.

        If the ranges raise the bound, they are recorded in `used_ranges`, because the proof then assumes them. A bound
        above 1 that needs no range is returned at once.
        """
        low, algebra = self.least(size), self.algebra
        if low > 1 or not algebra.ranges:
            return low
        kept, used_ranges, self._intervals, self._uses_ranges = self._intervals, dict(algebra.used_ranges), {}, True
        asked = self.least(size)
        self._intervals, self._uses_ranges = kept, False
        algebra.used_ranges = algebra.used_ranges if asked > low else used_ranges
        return asked

    def record_sizes(self, sizes: Sizes) -> None:
        """Record that the body (or main graph) being read computes a value of these sizes.

        Wherever this body is executed, the sizes are therefore not negative.
        """
        for size in sizes:
            if isinstance(size, Symbol) and size.key[0] == poly.SUM:
                add_once(self._seen.setdefault(size, []), self.algebra.place)

    def require_not_negative(self, sizes: Sizes) -> None:
        """Record that a node of the body (or main graph) being read fails if one of these sizes is negative.

        A number or a size that is certainly not negative is ignored. The first size that only the second file needs
        becomes `newly_needed`.
        """
        for size in sizes:
            if isinstance(size, int) or (size.key[0] != ELEMENT and self.is_size(size)):
                continue
            places = self._needed.setdefault(size, [])
            if (
                self.algebra.is_first_read
                and self.newly_needed is None
                and not is_executed_with(places, self.algebra.place)
            ):
                self.newly_needed = size
            add_once(places, self.algebra.place)

    def is_size(self, size: Size) -> bool:
        """Return whether a term is certainly not negative wherever the body (or main graph) being read is executed."""
        if isinstance(size, Symbol) and is_executed_with(self._seen.get(size, ()), self.algebra.place):
            return True
        return self.least(size) >= 0

    # --- normal forms -------------------------------------------------------------------------------------------------

    def _floor(self, dividend: Polynomial, by: int) -> Polynomial:
        """Return the polynomial for floor(P / n) in its normal form, where `product` is P and `by` is n."""
        inner = next(
            (term for term in dividend if term[1] in (1, -1) and poly.is_single_symbol(term[0], poly.FLOOR)), None
        )
        if inner is not None:  # floor((floor(P / c) + Q) / n) = floor((P + c Q) / (c n))
            (symbol,), sign = inner
            inside, divided_by = poly.polynomial_of(symbol), poly.divisor(symbol)
            turned = inside if sign > 0 else poly.difference(poly.number_term(divided_by - 1), inside)
            rest = tuple(term for term in dividend if term is not inner)
            return self._floor(poly.total((turned, poly.scaled(rest, divided_by))), by * divided_by)
        even = tuple((factors, number // by) for factors, number in dividend if number // by)
        rest = tuple((factors, number % by) for factors, number in dividend if number % by)
        if not any(factors for factors, _ in rest):
            return even
        shared = gcd(by, *(number for factors, number in rest if factors))
        if shared > 1:
            less = tuple((factors, number // shared) for factors, number in rest if number >= shared)
            return poly.total((even, self._floor(less, by // shared)))
        turned = poly.difference(poly.number_term(by - 1), rest)
        more = tuple((factors, number // by) for factors, number in turned if number // by)
        opposite = tuple((factors, number % by) for factors, number in turned if number % by)
        if poly.coefficients_from_highest(opposite) < poly.coefficients_from_highest(rest):
            return poly.difference(even, poly.total((more, self._symbol(poly.FLOOR, opposite, by))))
        return poly.total((even, self._symbol(poly.FLOOR, rest, by)))

    def _positive(self, polynomial: Polynomial) -> Polynomial:
        """Return the polynomial for max(0, P) in its normal form, where `product` is P."""
        low, high = self._interval(polynomial)
        if low >= 0:
            return polynomial
        if high <= 0:
            return ()
        shared = gcd(*(number for _, number in polynomial))
        if shared > 1:
            return poly.scaled(
                self._positive(tuple((factors, number // shared) for factors, number in polynomial)), shared
            )
        if polynomial[-1][1] < 0:  # max(0, P) = P + max(0, -P)
            return poly.total((polynomial, self._positive(poly.scaled(polynomial, -1))))
        return self._symbol(poly.POSITIVE, polynomial, 1)

    def _symbol(self, kind: str, polynomial: Polynomial, by: int) -> Polynomial:
        """Return a polynomial of one symbol, for floor(P / n) or max(0, P); `product` is P and `by` is n."""
        key = kind, polynomial, by
        symbol = self.algebra.symbols.get(key)
        if symbol is None:
            name = (
                f"max(0, {poly.shown(polynomial)})"
                if kind == poly.POSITIVE
                else f"floor(({poly.shown(polynomial)})/{by})"
            )
            symbol = self.algebra.symbol(key, name)
        return (((symbol,), 1),)

    def _cached(self, compute: Callable[..., Size | None], *sizes: Size) -> Size | None:
        """Return `compute(*sizes)`, and cache the result."""
        asked = compute.__name__, sizes
        if asked not in self._answers:
            self._answers[asked] = compute(*sizes)
        return self._answers[asked]

    def _term(self, polynomial: Polynomial) -> Size | None:
        """Return a polynomial as a size; None if it has too many terms. Equal polynomials return one object."""
        found = self._terms.get(polynomial)
        if found is None and len(polynomial) <= poly.MOST_TERMS:
            found = self._terms[polynomial] = self._new(polynomial)
        return found

    def _new(self, polynomial: Polynomial) -> Size:
        """Return a polynomial as a size: a number, its only symbol, or else a new symbol for the sum."""
        if not polynomial or polynomial[-1][0] == ():
            return polynomial[-1][1] if polynomial else 0
        if len(polynomial) == 1 and polynomial[0][1] == 1 and len(polynomial[0][0]) == 1:
            return polynomial[0][0][0]
        symbol = self.algebra.symbol(
            (poly.SUM, polynomial), poly.shown(polynomial)
        )  # created once because `_term` caches it
        symbol.equally_one = self._one(polynomial) or symbol
        symbol.is_never_1 = self.least(symbol) > 1 or not any(map(_may_be_1, poly.cases(polynomial)))
        return symbol

    def _one(self, polynomial: Polynomial) -> Symbol | None:
        """Return a symbol that is 1 exactly where the polynomial is 1; None if no such symbol is found.

        For min(64, N) this is N.
        """
        found: Symbol | None = None
        for case in poly.cases(polynomial):
            if not _may_be_1(case):
                continue
            if len(case) != 1 or case[0][1] != 1 or len(case[0][0]) != 1 or found not in (None, case[0][0][0]):
                return None
            found = case[0][0][0]
        return found if found is not None and self._where_one(polynomial, found) == 1 else None

    def _where_one(self, polynomial: Polynomial, symbol: Symbol) -> int | None:
        """Return the value that a polynomial has where `symbol` is 1; None if the value depends on other symbols."""
        values: dict[Symbol, Polynomial] = {symbol: poly.number_term(1)}
        for other in {each for factors, _ in polynomial for each in factors} - {symbol}:
            if other.key[0] not in (poly.FLOOR, poly.POSITIVE):
                return None
            inside = self._where_one(poly.polynomial_of(other), symbol)
            if inside is None:
                return None
            made = max(0, inside) if other.key[0] == poly.POSITIVE else inside // poly.divisor(other)
            values[other] = poly.number_term(made)
        found = poly.replaced(polynomial, values)
        return None if any(factors for factors, _ in found) else dict(found).get((), 0)

    # --- what a term can be -------------------------------------------------------------------------------------------

    def _interval(self, polynomial: Polynomial) -> Interval:
        """Return bounds of a polynomial's value, and cache them."""
        found = self._intervals.get(polynomial)
        if found is None:
            found = self._intervals[polynomial] = self._interval_of_cases(polynomial)
        return found

    def _interval_of_cases(self, polynomial: Polynomial) -> Interval:
        """Return bounds of a polynomial's value that cover all its `cases`.

        If there are several cases, the bounds of the whole polynomial narrow the result.
        """
        cases = poly.cases(polynomial)
        ends = [self._interval_of_case(case) for case in cases]
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        if len(cases) == 1:
            return low, high
        least, most = self._interval_by_symbols(
            polynomial
        )  # max(0, N - 1) is not negative although the case N - 1 may be
        return max(low, least), min(high, most)

    def _interval_of_case(self, polynomial: Polynomial) -> Interval:
        """Return bounds of a polynomial's value, using that each floor(P / n) is near P / n."""
        low, high = self._interval_by_symbols(polynomial)
        rounded = [term for term in polynomial if poly.is_single_symbol(term[0], poly.FLOOR)]
        if not rounded or (len(rounded) == 1 and not any(term[0] and term is not rounded[0] for term in polynomial)):
            return low, high  # beside a number alone, the bounds of the single quotient are as good
        by = prod(poly.divisor(factors[0]) for factors, _ in rounded)
        others = poly.scaled(tuple(term for term in polynomial if term not in rounded), by)
        for side in (-1, 1):  # the bounds follow from P - n + 1 <= n floor(P / n) <= P
            parts = [others]
            for (symbol,), number in rounded:
                inside, divided_by = poly.polynomial_of(symbol), poly.divisor(symbol)
                limit = inside if number * side > 0 else poly.difference(inside, poly.number_term(divided_by - 1))
                parts.append(poly.scaled(limit, number * by // divided_by))
            beyond = self._interval_by_symbols(poly.total(parts))[side > 0]
            if side < 0 and beyond > -inf:
                low = max(low, -(-beyond // by))
            elif side > 0 and beyond < inf:
                high = min(high, beyond // by)
        return low, high

    def _interval_by_symbols(self, polynomial: Polynomial) -> Interval:
        """Return bounds of a polynomial's value by interval arithmetic: each symbol varies independently."""
        low: float = 0
        high: float = 0
        for factors, number in polynomial:
            ends = self._range(factors[0]) if factors else (1, 1)
            for symbol in factors[1:]:
                corners = [_product(x, y) for x in ends for y in self._range(symbol)]
                ends = min(corners), max(corners)
            low, high = low + _product(number, ends[number < 0]), high + _product(number, ends[number > 0])
        return low, high

    def _range(self, symbol: Symbol) -> Interval:
        """Return bounds of a symbol's value.

        The bounds of floor(P / n) and max(0, P) follow from those of P. Any other symbol is a size: 0 or more or, if
        `_uses_ranges`, within the range that the user requested.
        """
        if symbol.key[0] not in (poly.FLOOR, poly.POSITIVE):
            return self.algebra.asked_range(symbol) if self._uses_ranges else (0, inf)
        low, high = self._interval(poly.polynomial_of(symbol))
        if symbol.key[0] == poly.POSITIVE:
            return max(low, 0), high
        by = poly.divisor(symbol)
        return (low if low == -inf else low // by), (high if high == inf else high // by)


def _equal_shapes(sizes: Sequence[Size]) -> Iterator[list[Size]]:
    """Yield shapes equal to `sizes` in which one broadcast size is replaced by one of its parts that is never 1.

    The sum of [2*M,n] and [2*N,n] has 2*M rows and also 2*N rows, because both are equal where the two fit.
    """
    for at, size in enumerate(sizes):
        for same in never_1(size):
            if same is not size:
                yield [*sizes[:at], same, *sizes[at + 1 :]]


def _product(one: float, other: float) -> float:
    """Return the product of two ends of intervals: 0 times infinity is 0, and a result beyond _FARTHEST is infinite."""
    if not one or not other:
        return 0
    if max(abs(one), abs(other)) == inf or abs(one * other) > _FARTHEST:
        return inf if (one > 0) == (other > 0) else -inf
    return one * other


def _may_be_1(polynomial: Polynomial) -> bool:
    """Return whether the coefficients allow a polynomial to be 1.

    For `2 * N` they do not, because it is even for every N.
    """
    step, added = gcd(*(number for factors, number in polynomial if factors)), dict(polynomial).get((), 0)
    return (1 - added) % step == 0 if step else added == 1

"""Names for sizes that are no polynomials: rounded quotients `floor(P / n)`, and positive parts `max(0, P)`.

Each of these sizes has one canonical form, so equal arithmetic results in equal names. The table stores the definition
of each name, from which its range is computed: `floor((N+1)/2)` is between N / 2 and (N + 1) / 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import gcd, inf, prod
from typing import NamedTuple, TypeAlias

from graphfix.results.records import dataclass, field
from graphfix.shapes import polynomial as poly
from graphfix.shapes.dim import Parts
from graphfix.shapes.polynomial import FARTHEST, Polynomial, TooLongError

Bound: TypeAlias = int | float
"""An int, or positive or negative infinity."""
Interval: TypeAlias = tuple[Bound, Bound]

MOST_CASES = 3
"""The largest number of names max(0, P) in one polynomial that are split into two cases. Each doubles the work."""
LONGEST = 400
"""The largest length of a name. Longer arithmetic gets no name."""


class Made(NamedTuple):
    """The definition of a name: `floor(of / by)`, or `max(0, of)`. `kind` is "floor" or "positive"."""

    kind: str
    of: Polynomial
    by: int


@dataclass(slots=True)
class NameTable:
    """The definitions and ranges of the names in one analysis."""

    made: dict[Parts, Made] = field(default_factory=dict)
    ranges: dict[Parts, Interval] = field(default_factory=dict)
    """Name -> the smallest and the largest value that it can have."""
    _floors: dict[tuple[Polynomial, int], Polynomial] = field(default_factory=dict)
    _intervals: dict[Polynomial, Interval] = field(default_factory=dict)
    _split: dict[Polynomial, list[Polynomial]] = field(default_factory=dict)
    # caches: a model has few distinct sizes, and each is requested many times
    _positives: set[Parts] = field(default_factory=set)
    _quotients: set[Parts] = field(default_factory=set)
    """The names in `made`, separated by kind, because most models have no names of one of the kinds."""

    def floor(self, polynomial: Polynomial, by: int) -> Polynomial:
        """Return `polynomial` divided by `by` and rounded down, in canonical form.

        Terms that `by` divides are outside the rounded quotient, and a rounded quotient contains no other one.
        """
        if by == 1:
            return polynomial
        found = self._floors.get((polynomial, by))
        if found is None:
            found = self._floors[polynomial, by] = self._floor(polynomial, by)
        return found

    def _floor(self, polynomial: Polynomial, by: int) -> Polynomial:
        joined = self._joined(polynomial, by)
        if joined is not None:
            return self.floor(*joined)
        quotient, rest = poly.divided(polynomial, by)
        if poly.constant(rest) is not None:  # the remainder is less than `by`, so its quotient is 0
            return quotient
        shared = gcd(poly.common_factor(rest), by)
        if shared > 1:  # floor((c P + k) / (c n)) is floor((P + floor(k / c)) / n)
            return poly.added(quotient, self.floor(poly.divided(rest, shared)[0], by // shared))
        return poly.added(quotient, self._smaller_form(rest, by))

    def _smaller_form(self, polynomial: Polynomial, by: int) -> Polynomial:
        """Return floor(P / n) as a name, or as -floor((n - 1 - P) / n) if that has the smaller coefficients."""
        if 2 * polynomial[-1][1] >= by:
            more, turned = poly.divided(poly.subtracted(poly.number(by - 1), polynomial), by)
            if _leading_first(turned) < _leading_first(polynomial):
                return poly.scaled(poly.added(more, self._named(Made("floor", turned, by))), -1)
        return self._named(Made("floor", polynomial, by))

    def _joined(self, polynomial: Polynomial, by: int) -> tuple[Polynomial, int] | None:
        """Return (dividend, divisor) with a rounded quotient inside `polynomial` merged; None if it contains none.

        floor((floor(P / c) + Q) / n) is floor((P + c Q) / (c n)).
        """
        for monomial, factor in polynomial:
            if factor not in (1, -1) or not self._is_rounded(monomial):
                continue
            made = self.made[monomial[0]]
            others = poly.collected(term for term in polynomial if term[0] != monomial)
            # -floor(P / c) is floor((c - 1 - P) / c)
            inner = made.of if factor > 0 else poly.subtracted(poly.number(made.by - 1), made.of)
            return poly.added(inner, poly.scaled(others, made.by)), made.by * by
        return None

    def positive(self, polynomial: Polynomial) -> Polynomial:
        """Return max(0, P). P and -P use one name, because max(0, P) - max(0, -P) is P."""
        low, high = self.interval(polynomial)
        if low >= 0 or high <= 0:
            return polynomial if low >= 0 else poly.ZERO
        number = poly.number_in(polynomial)
        factor = gcd(poly.common_factor(polynomial), number) if number else poly.common_factor(polynomial)
        if factor > 1:
            reduced = tuple([(monomial, each // factor) for monomial, each in polynomial])
            return poly.scaled(self.positive(reduced), factor)
        if polynomial[-1][1] < 0:
            return poly.added(polynomial, self.positive(poly.scaled(polynomial, -1)))
        return self._named(Made("positive", polynomial, 1))

    def _named(self, made: Made) -> Polynomial:
        """Return a name for a rounded quotient or a positive part. Raise TooLongError if the name would be too long."""
        if made.by > FARTHEST:
            raise TooLongError
        inner = poly.text(made.of)
        text = f"max(0, {inner})" if made.kind == "positive" else f"floor(({inner})/{made.by})"
        if len(text) > LONGEST:
            raise TooLongError
        parts = (f"?={text}",)
        if parts not in self.made:
            self.made[parts] = made
            (self._positives if made.kind == "positive" else self._quotients).add(parts)
            low, high = self.interval(made.of)
            self.ranges[parts] = (max(low, 0), high) if made.kind == "positive" else divided(low, high, made.by)
        return poly.name(parts)

    def number(self, polynomial: Polynomial, numbers: Mapping[Parts, int]) -> int | None:
        """Return the value of a polynomial if names have these numbers; None if it contains any other name."""
        total = 0
        for monomial, factor in polynomial:
            product = factor
            for part in monomial:
                found = self._number_of(part, numbers)
                if found is None:
                    return None
                product *= found
            total += product
        return total

    def _number_of(self, part: Parts, numbers: Mapping[Parts, int]) -> int | None:
        """Return the value of one name if other names have these numbers; None if that is unknown."""
        made = self.made.get(part)
        if made is None:
            return numbers.get(part)
        found = self.number(made.of, numbers)
        if found is None:
            return None
        return max(0, found) if made.kind == "positive" else found // made.by

    # --- the range of a polynomial ------------------------------------------------------------------------------------

    def interval(self, polynomial: Polynomial) -> Interval:
        """Return the smallest and the largest value that a polynomial can have, as far as they can be computed."""
        found = self._intervals.get(polynomial)
        if found is None:
            found = self._intervals[polynomial] = self._interval(polynomial)
        return found

    def _interval(self, polynomial: Polynomial) -> Interval:
        number = poly.constant(polynomial)
        if number is not None:
            return capped(number, number)
        cases = self._cases(polynomial)
        if len(cases) == 1:
            return self._case_interval(cases[0])
        lows, highs = zip(*[self._case_interval(case) for case in cases], strict=True)
        low, high = self._plain_interval(polynomial)  # max(0, N - 1) is not negative, but N - 1 may be
        return max(low, min(lows)), min(high, max(highs))

    def _cases(self, polynomial: Polynomial) -> list[Polynomial]:
        """Return the polynomial with each max(0, P) replaced by 0 and by P.

        A fact that is true for all cases is true.
        """
        if not self._positives:
            return [polynomial]
        found = self._split.get(polynomial)
        if found is None:
            found = self._split[polynomial] = self._splits(polynomial)
        return found

    def _splits(self, polynomial: Polynomial) -> list[Polynomial]:
        """Return the cases of a polynomial, or only the polynomial if there would be too many."""
        split = list(dict.fromkeys([part for term in polynomial for part in term[0] if part in self._positives]))
        if not split or len(split) > MOST_CASES:
            return [polynomial]
        choices = product(*[(poly.ZERO, self.made[part].of) for part in split])
        try:
            return [poly.substituted(polynomial, dict(zip(split, chosen, strict=True))) for chosen in choices]
        except TooLongError:
            return [polynomial]  # a high power of max(0, P) is not split

    def _case_interval(self, polynomial: Polynomial) -> Interval:
        """Return the range of a polynomial without max(0, P), also by the bounds of the quotients before rounding."""
        low, high = self._plain_interval(polynomial)
        rounded = [term for term in polynomial if self._is_rounded(term[0])] if self._quotients else []
        others = tuple([term for term in polynomial if term not in rounded]) if rounded else polynomial
        if not rounded or (len(rounded) == 1 and poly.constant(others) is not None):
            return low, high  # the range of the rounded name is as exact
        return (
            max(low, self._beyond(rounded, others, above=False)),
            min(high, self._beyond(rounded, others, above=True)),
        )

    def _plain_interval(self, polynomial: Polynomial) -> Interval:
        """Return the range of a polynomial, from the ranges of its names alone."""
        low: Bound = 0
        high: Bound = 0
        for monomial, factor in polynomial:
            if abs(factor) > FARTHEST:
                return -inf, inf
            if len(monomial) == 1:  # nearly every monomial is a single name
                one, two = self.ranges[monomial[0]]
                low, high = low + factor * (one if factor > 0 else two), high + factor * (two if factor > 0 else one)
                continue
            interval: Interval = (factor, factor)
            for part in monomial:
                interval = times(interval, self.ranges[part])
            low, high = low + interval[0], high + interval[1]
        return low, high

    def _beyond(self, rounded: list[tuple[poly.Monomial, int]], others: Polynomial, *, above: bool) -> Bound:
        """Return an upper (`above`) or lower bound of a polynomial with rounded quotients.

        The bound follows from P - n + 1 <= n floor(P / n) <= P. `rounded` are the terms with rounded quotients, and
        `others` the other terms.
        """
        by = prod([self.made[monomial[0]].by for monomial, _ in rounded])
        parts = [poly.scaled(others, by)]
        for monomial, factor in rounded:
            made = self.made[monomial[0]]
            limit = made.of if (factor > 0) == above else poly.subtracted(made.of, poly.number(made.by - 1))
            parts.append(poly.scaled(limit, factor * by // made.by))
        low, high = self._plain_interval(poly.added(*parts))
        if above:
            return high if high == inf else high // by
        return low if low == -inf else -(-low // by)

    def _is_rounded(self, monomial: poly.Monomial) -> bool:
        """Return whether a monomial is a single rounded quotient."""
        return len(monomial) == 1 and monomial[0] in self._quotients

    def one(self, polynomial: Polynomial) -> Parts | None:
        """Return when a polynomial is 1: None if never, a name if exactly when that name is 1, else ()."""
        low, high = self.interval(polynomial)
        named_parts: Parts | None = None
        for case in self._cases(polynomial):
            bare, factor = poly.bare_name(case), poly.common_factor(case)
            if (1 - poly.number_in(case)) % factor if factor else poly.constant(case) != 1:
                continue  # no value of this case is 1
            if bare is None or named_parts not in (None, bare):
                return ()
            named_parts = bare
        if named_parts is None or not low <= 1 <= high:
            return None
        return named_parts if self._at_one(polynomial, named_parts) == 1 else ()

    def _at_one(self, polynomial: Polynomial, name: Parts) -> int | None:
        """Return the value of a polynomial if the size `name` is 1; None if the value depends on other names."""
        values: dict[Parts, Polynomial] = {name: poly.number(1)}
        for part in poly.names(polynomial):
            made = self.made.get(part)
            if made is None:
                continue
            inner = self._at_one(made.of, name)
            if inner is None:
                return None
            values[part] = poly.number(max(0, inner) if made.kind == "positive" else inner // made.by)
        return poly.constant(poly.substituted(polynomial, values))


def divided(low: Bound, high: Bound, by: int) -> Interval:
    """Return an interval divided by a number and rounded down."""
    return (low if low == -inf else low // by), (high if high == inf else high // by)


def _leading_first(polynomial: Polynomial) -> list[int]:
    """Return the coefficients from the highest term to the constant term, to compare two forms."""
    return [factor for monomial, factor in reversed(polynomial) if monomial] + [poly.number_in(polynomial)]


def times(a: Interval, b: Interval) -> Interval:
    """Return the product of two intervals."""
    corners = [x * y if x and y else 0 for x in a for y in b]  # 0 times infinity is 0 here
    return capped(min(corners), max(corners))


def capped(low: Bound, high: Bound) -> Interval:
    """Return an interval with bounds beyond +-FARTHEST replaced by infinity.

    The digits of a bound double with each square, and a float can't represent a number of many digits.
    """
    if low >= -FARTHEST and high <= FARTHEST:  # nearly all bounds are small
        return low, high
    return (-inf if low < -FARTHEST else min(low, FARTHEST)), (inf if high > FARTHEST else max(high, -FARTHEST))

"""Arithmetic with sizes that keeps names: the same arithmetic on the same sizes is one name.

    mul(?x.0, 4) and add(?x.0, ?x.0, ?x.0, ?x.0) are one term; floordiv(mul(?x.0, 4), 4) is ?x.0 again

A named size is a polynomial over names with integer coefficients; what polynomials cannot say (a rounded quotient, a
maximum) has a new name. Elements of integer tensors are sizes here too, and may be negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias

from graphfix.shapes.dim import UNKNOWN, Dim, Parts, Size

Monomial: TypeAlias = tuple[Parts, ...]
"""Sorted names that are multiplied, one as often as it is a factor; () for a number alone."""
Polynomial: TypeAlias = tuple[tuple[Monomial, int], ...]
"""(monomial, coefficient), sorted; no coefficient is 0."""
Bound: TypeAlias = int | float
"""An int, or an infinity."""

LEAST = -(2**63)
"""The least element that an integer tensor holds: `Dim.lo` is a number."""

GREATEST = 2**31 - 1
"""The greatest size that a tensor's axis has."""


def bounds(size: Size) -> tuple[Bound, Bound]:
    """The least and the greatest that an element can be, infinite where nothing bounds it."""
    if isinstance(size, int):
        return size, size
    return (-inf if size.lo <= LEAST else size.lo), (inf if size.hi is None else size.hi)


def as_size(element: Size) -> Size:
    """An element that is used as a size: it is not negative, or the model fails."""
    if isinstance(element, int):
        return element if 0 <= element <= GREATEST else UNKNOWN
    return element if element.lo >= 0 else Dim(element.parts, 0, element.hi)


def maybe_negative(element: Size) -> bool:
    """Whether an element can be below 0."""
    return element < 0 if isinstance(element, int) else element.lo < 0


@dataclass(slots=True)
class Terms:
    """The names that one analysis makes, and what they stand for."""

    _names: dict[object, Parts] = field(default_factory=dict)
    _meanings: dict[Parts, Polynomial] = field(default_factory=dict)
    _ranges: dict[Parts, tuple[Bound, Bound]] = field(default_factory=dict)

    def add(self, *sizes: Size) -> Size:
        """The sum."""
        low, high = map(sum, zip(*map(bounds, sizes), strict=True)) if sizes else (0, 0)
        polynomials = [self._polynomial(size) for size in sizes]
        total: dict[Monomial, int] = {}
        for polynomial in polynomials:
            if polynomial is None:
                return _within((), low, high)
            for monomial, factor in polynomial:
                total[monomial] = total.get(monomial, 0) + factor
        return self._size(total, low, high)

    def mul(self, *sizes: Size) -> Size:
        """The product; 0 times anything is 0."""
        if all(isinstance(size, int) for size in sizes) or 0 in sizes:
            return _product(sizes)
        low: Bound = 1
        high: Bound = 1
        total: dict[Monomial, int] | None = {(): 1}
        for size in sizes:
            low, high = _times((low, high), bounds(size))
            polynomial = self._polynomial(size)
            total = None if total is None or polynomial is None else _multiplied(total, polynomial)
        return _within((), low, high) if total is None else self._size(total, low, high)

    def sub(self, a: Size, b: Size) -> Size:
        """The difference, a - b."""
        return self.add(a, self.mul(b, -1))

    def floordiv(self, a: Size, by: Size) -> Size:
        """The quotient rounded down."""
        if not isinstance(by, int) or by <= 0:
            return self.opaque("floordiv", a, by)
        low, high = (bound if bound in (inf, -inf) else bound // by for bound in bounds(a))
        polynomial = self._polynomial(a)
        if polynomial is None:
            return _within((), low, high)
        # (4x + 5) // 4 = x + 1 + 1 // 4
        whole = {monomial: factor // by for monomial, factor in polynomial}
        rest = tuple([(monomial, factor % by) for monomial, factor in polynomial if factor % by])
        if any(monomial for monomial, _ in rest):
            left = self._named(("floordiv", rest, by), -inf if low < 0 else 0, inf)
            return self.add(self._size(whole, low, high), left) if any(whole.values()) else _within(left, low, high)
        return self._size(whole, low, high)

    def quotient(self, a: Size, by: Size) -> Size:
        """The quotient where it has no rest whatever the sizes are; UNKNOWN where that is not provable."""
        dividend, divisor = self._polynomial(a), self._polynomial(by)
        if dividend is None or divisor is None or len(divisor) != 1:
            return UNKNOWN
        (factors, number), *_ = divisor
        result: dict[Monomial, int] = {}
        for monomial, coefficient in dividend:
            left = _without(monomial, factors)
            if left is None or coefficient % number:
                return UNKNOWN
            result[left] = coefficient // number
        return self._size(result, 0, inf)

    def maximum(self, a: Size, b: Size) -> Size:
        """The greater of two."""
        (a_low, a_high), (b_low, b_high) = bounds(a), bounds(b)
        if a_low >= b_high or a == b != UNKNOWN:
            return a
        if b_low >= a_high:
            return b
        return self.opaque("maximum", *sorted((a, b), key=str), low=max(a_low, b_low), high=max(a_high, b_high))

    def minimum(self, a: Size, b: Size) -> Size:
        """The lesser of two."""
        (a_low, a_high), (b_low, b_high) = bounds(a), bounds(b)
        if a_high <= b_low or a == b != UNKNOWN:
            return a
        if b_high <= a_low:
            return b
        return self.opaque("minimum", *sorted((a, b), key=str), low=min(a_low, b_low), high=min(a_high, b_high))

    def opaque(self, kind: str, *sizes: Size, low: Bound = -inf, high: Bound = inf) -> Size:
        """What a function of that kind returns for these sizes: one name for one function and one set of sizes."""
        polynomials = tuple([self._polynomial(size) for size in sizes])
        if None in polynomials:
            return _within((), low, high)
        return _within(self._named((kind, polynomials), low, high), low, high)

    def _named(self, key: object, low: Bound, high: Bound) -> Dim:
        parts = self._names.get(key)
        if parts is None:
            parts = self._names[key] = (f"?~{len(self._names)}",)  # no tensor's axis: those end in .0, .1 ...
        return _dim(parts, low, high)

    def _polynomial(self, size: Size) -> Polynomial | None:
        """None for a size without a name."""
        if isinstance(size, int):
            return (((), size),) if size else ()
        if not size.parts:
            return None
        self._ranges.setdefault(size.parts, bounds(size))
        return self._meanings.get(size.parts, (((size.parts,), 1),))

    def _size(self, total: dict[Monomial, int], low: Bound, high: Bound) -> Size:
        polynomial = tuple(sorted((monomial, factor) for monomial, factor in total.items() if factor))
        if not polynomial:
            return 0
        (monomial, factor), *others = polynomial
        if not others and not monomial:
            return factor
        if not others and len(monomial) == 1 and factor == 1:
            return _dim(monomial[0], *self._ranges[monomial[0]])
        dim = self._named(polynomial, low, high)
        self._meanings.setdefault(dim.parts, polynomial)
        return dim


def _dim(parts: Parts, low: Bound, high: Bound) -> Dim:
    return Dim(parts, max(int(low), LEAST) if low > -inf else LEAST, int(high) if high < inf else None)


def _within(named: Dim | Parts, low: Bound, high: Bound) -> Dim:
    """That name, in these bounds."""
    return _dim(named.parts if isinstance(named, Dim) else named, low, high)


def _product(sizes: Sequence[Size]) -> int:
    result = 1
    for size in sizes:
        result *= size if isinstance(size, int) else 0  # asked only where all are numbers, or one is 0
    return result


def _multiplied(total: dict[Monomial, int], polynomial: Polynomial) -> dict[Monomial, int]:
    result: dict[Monomial, int] = {}
    for a, number in total.items():
        for b, factor in polynomial:
            monomial = tuple(sorted((*a, *b)))
            result[monomial] = result.get(monomial, 0) + number * factor
    return result


def _without(monomial: Monomial, factors: Monomial) -> Monomial | None:
    """What is left of a product when these factors are cancelled; None when one of them is not there."""
    left = list(monomial)
    for factor in factors:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)


def _times(a: tuple[Bound, Bound], b: tuple[Bound, Bound]) -> tuple[Bound, Bound]:
    corners = [x * y if x and y else 0 for x in a for y in b]  # 0 times infinity is 0 here
    return min(corners), max(corners)

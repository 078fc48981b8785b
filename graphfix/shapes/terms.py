"""Arithmetic with sizes that keeps names: the same arithmetic on the same sizes is one name.

    mul(N, 4) and add(N, N, N, N) are one term; floordiv(mul(N, 4), 4) is N again
    floordiv(add(N, 1), 2) is one term however a convolution, a pool or a Slice came to it

A named size is a polynomial over names with whole coefficients (`polynomial`). What polynomials cannot say is a name
that says what it stands for: a rounded quotient `floor(P / n)`, what of a number is positive `max(0, P)` (of which
the lesser and the greater of two are made), and `opaque` functions. Elements of integer tensors are sizes here too,
and may be negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import inf, prod

from graphfix.results.records import dataclass, field
from graphfix.shapes import name_table
from graphfix.shapes import polynomial as poly
from graphfix.shapes.dim import UNKNOWN, Dim, Parts, Size, same
from graphfix.shapes.name_table import LONGEST, Bound, Interval, NameTable, times
from graphfix.shapes.polynomial import Polynomial, TooLongError

LEAST = -(2**63)
"""The least element that an integer tensor holds: `Dim.lo` is a number."""

MOST = 2**63
"""Above what an integer tensor holds: no greater bound is noted."""

ANY = Dim((), LEAST)
"""An element of which nothing is known: unlike an unknown size it may be negative."""

GREATEST = 2**31 - 1
"""The greatest size that a tensor's axis has."""


def bounds(size: Size) -> Interval:
    """The least and the greatest that an element can be, infinite where nothing bounds it."""
    if isinstance(size, int):
        return name_table.capped(size, size)
    return (-inf if size.lo <= LEAST else size.lo), (inf if size.hi is None else size.hi)


def as_size(element: Size) -> Size:
    """An element that is used as a size: it is not negative, or the model fails."""
    if isinstance(element, int):
        return element if 0 <= element <= GREATEST else UNKNOWN
    return element if element.lo >= 0 else Dim(element.parts, 0, element.hi, element.one)


def maybe_negative(element: Size) -> bool:
    """Whether an element can be below 0."""
    return element < 0 if isinstance(element, int) else element.lo < 0


@dataclass(slots=True)
class Terms:
    """The names that one analysis makes, and what they stand for."""

    names: NameTable = field(default_factory=NameTable)
    _meanings: dict[Parts, Polynomial] = field(default_factory=dict)
    _sizes: dict[Polynomial, Size] = field(default_factory=dict)
    _answers: dict[tuple[str, tuple[Size, ...]], Size] = field(default_factory=dict)
    """What arithmetic over names gave: a model has few distinct sizes, and computes with each of them many times."""

    # --- sums and products --------------------------------------------------------------------------------------------

    def add(self, *sizes: Size) -> Size:
        """The sum."""
        numbers = _numbers(sizes)
        return sum(numbers) if numbers is not None else self._once("add", sizes, poly.added, _added)

    def mul(self, *sizes: Size) -> Size:
        """The product; 0 times anything is 0."""
        numbers = _numbers(sizes)
        if numbers is not None:
            return prod(numbers)
        return 0 if 0 in sizes else self._once("mul", sizes, _multiplied, _times)

    def sub(self, a: Size, b: Size) -> Size:
        """The difference, a - b."""
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return self._once("sub", (a, b), poly.subtracted, _apart)

    # --- quotients ----------------------------------------------------------------------------------------------------

    def floordiv(self, a: Size, by: Size, plus: int = 0) -> Size:
        """The quotient (a + plus) / by rounded down."""
        if isinstance(by, int) and by > 0:
            return (a + plus) // by if isinstance(a, int) else self._rounded(a, by, plus)
        total = self.add(a, plus)
        exact = self.quotient(total, by)
        return self.opaque("floordiv", total, by) if exact == UNKNOWN else exact

    def _rounded(self, a: Size, by: int, plus: int) -> Size:
        return self._once(
            "floordiv",
            (a, by, plus),
            lambda quotient, *_: self.names.floor(poly.added(quotient, poly.number(plus)), by),
            lambda whole, *_: name_table.divided(whole[0] + plus, whole[1] + plus, by),
        )

    def ceildiv(self, a: Size, by: int) -> Size:
        """The quotient rounded up."""
        return self.floordiv(a, by, by - 1)

    def quotient(self, a: Size, by: Size) -> Size:
        """The quotient where it has no rest whatever the sizes are; UNKNOWN where that is not provable."""
        dividend, divisor = self._polynomial(a), self._polynomial(by)
        if dividend is None or divisor is None:
            return UNKNOWN
        exact = poly.quotient(dividend, divisor)
        return UNKNOWN if exact is None else self._size(exact)

    def missing_size(self, source: Sequence[Size], others: Sequence[Size]) -> Size:
        """Return the size that, multiplied by `others`, gives the product of `source`: the -1 of a Reshape.

        Equal sizes on both sides cancel. A quotient by a number is rounded down, because the runtime refuses a reshape
        with a remainder. Returns UNKNOWN if numbers do not divide, and if no quotient by a name is provable.
        """
        left, divisor = list(source), list[Size]()
        for size in others:  # a size without a name cancels nothing
            match = next((at for at, have in enumerate(left) if same(have, size)), None)
            if match is None:
                divisor.append(size)
            else:
                left.pop(match)
        dividend, by = self.mul(*left), self.mul(*divisor)
        if isinstance(dividend, int) and isinstance(by, int):
            return dividend // by if by and dividend % by == 0 else UNKNOWN
        if not isinstance(by, int):
            return as_size(self.quotient(dividend, by))
        return as_size(self.floordiv(dividend, by)) if by > 0 else UNKNOWN

    def mod(self, a: Size, by: Size) -> Size:
        """The rest of the quotient rounded down: it has the sign of the divisor."""
        if isinstance(a, int) and isinstance(by, int) and by > 0:
            return a % by
        key = "mod", (a, by)
        if key not in self._answers:
            self._answers[key] = self._rest(a, by)
        return self._answers[key]

    def _rest(self, a: Size, by: Size) -> Size:
        polynomial = self._polynomial(a)
        if polynomial is not None and isinstance(by, int) and by > 0:
            try:
                return self._size(poly.subtracted(polynomial, poly.scaled(self.names.floor(polynomial, by), by)))
            except TooLongError:
                pass  # no name for it
        return self.sub(a, self.mul(by, self.floordiv(a, by)))

    # --- order --------------------------------------------------------------------------------------------------------

    def maximum(self, a: Size, b: Size) -> Size:
        """The greater of two."""
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b)
        low, high = self.order(a, b)
        if low >= 0 or high <= 0:
            return a if low >= 0 else b
        return self._once(
            "maximum",
            (a, b),
            lambda one, two: poly.added(two, self.names.positive(poly.subtracted(one, two))),
            lambda one, two: (max(one[0], two[0]), max(one[1], two[1])),
        )

    def minimum(self, a: Size, b: Size) -> Size:
        """The lesser of two."""
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        low, high = self.order(a, b)
        if low >= 0 or high <= 0:
            return b if low >= 0 else a
        return self._once(
            "minimum",
            (a, b),
            lambda one, two: poly.subtracted(one, self.names.positive(poly.subtracted(one, two))),
            lambda one, two: (min(one[0], two[0]), min(one[1], two[1])),
        )

    def order(self, a: Size, b: Size) -> Interval:
        """The least and the greatest that a - b can be: both are 0 where they are one size."""
        one, two = self._polynomial(a), self._polynomial(b)
        if one is None or two is None:
            return _apart(bounds(a), bounds(b))
        if one == two:
            return 0, 0
        if isinstance(a, int) or isinstance(b, int):  # the range of the other is moved
            return _apart(self.names.interval(one), self.names.interval(two))
        return self.names.interval(poly.subtracted(one, two))

    def factor(self, size: Size) -> int:
        """The greatest number that a name is multiplied by in it."""
        polynomial = self._polynomial(size) or ()
        return max((abs(factor) for _, factor in polynomial), default=0)

    def number(self, size: Size, numbers: Mapping[Parts, int]) -> int | None:
        """What a size is where names have these numbers; None where it is made of another name as well."""
        polynomial = self._polynomial(size)
        return None if polynomial is None else self.names.number(polynomial, numbers)

    def text(self, size: Size) -> str:
        """The size as arithmetic over names."""
        polynomial = self._polynomial(size)
        return "?" if polynomial is None else poly.text(polynomial)

    # --- names --------------------------------------------------------------------------------------------------------

    def opaque(self, kind: str, *sizes: Size, low: Bound = -inf, high: Bound = inf) -> Size:
        """What a function of that kind returns for these sizes: one name for one function and one set of sizes."""
        polynomials = self._polynomials(sizes)
        if polynomials is None:
            return _anonymous(low, high)
        try:
            return self._alone(f"{kind}({', '.join(map(poly.text, polynomials))})", (low, high))
        except TooLongError:
            return _anonymous(low, high)  # no name for it

    def _alone(self, text: str, interval: Interval) -> Dim:
        if len(text) > LONGEST:
            return _anonymous(*interval)
        parts = (f"?={text}",)  # no tensor's axis: those end in .0, .1 ...
        self.names.ranges.setdefault(parts, interval)
        return _dim(parts, *self.names.ranges[parts])

    def _once(
        self,
        kind: str,
        sizes: tuple[Size, ...],
        exact: Callable[..., Polynomial],
        interval: Callable[..., Interval],
    ) -> Size:
        """Return the result of an operation of this kind; it is computed once for the same sizes.

        `exact` computes the result from polynomials. Where a size has no name, or the name of the result would be too
        long, `interval` computes the range of the result from the ranges of the sizes.
        """
        key = kind, sizes
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = self._computed(sizes, exact, interval)
        return found

    def _computed(
        self, sizes: tuple[Size, ...], exact: Callable[..., Polynomial], interval: Callable[..., Interval]
    ) -> Size:
        polynomials = self._polynomials(sizes)
        if polynomials is not None:
            try:
                return self._size(exact(*polynomials))
            except TooLongError:
                pass  # no name for it
        return _anonymous(*interval(*map(bounds, sizes)))

    def _polynomials(self, sizes: tuple[Size, ...]) -> list[Polynomial] | None:
        found = [polynomial for size in sizes if (polynomial := self._polynomial(size)) is not None]
        return found if len(found) == len(sizes) else None

    def _polynomial(self, size: Size) -> Polynomial | None:
        """None for a size without a name."""
        if isinstance(size, int):
            return poly.number(size)
        if not size.parts:
            return None
        found = self._meanings.get(size.parts)
        if found is None:
            found = self._meanings[size.parts] = poly.name(size.parts)
            self.names.ranges.setdefault(size.parts, bounds(size))
        return found

    def _size(self, polynomial: Polynomial) -> Size:
        number = poly.constant(polynomial)
        if number is not None:
            return number
        found = self._sizes.get(polynomial)
        if found is None:
            found = self._sizes[polynomial] = self._described(polynomial)
        return found

    def _described(self, polynomial: Polynomial) -> Size:
        bare, interval = poly.bare_name(polynomial), self.names.interval(polynomial)
        if bare is not None:
            return _dim(bare, *interval)
        try:
            text = poly.text(polynomial)
        except TooLongError:
            return _anonymous(*interval)
        if len(polynomial) > poly.MOST_MONOMIALS or len(text) > LONGEST:
            return _anonymous(*interval)
        parts = (f"?={text}",)
        self._meanings[parts] = polynomial
        self.names.ranges[parts] = interval
        return Dim(parts, *_limits(*interval), self.names.one(polynomial))


def _numbers(sizes: tuple[Size, ...]) -> list[int] | None:
    """The sizes as numbers; None where one is open."""
    found = [size for size in sizes if isinstance(size, int)]
    return found if len(found) == len(sizes) else None


def _multiplied(*polynomials: Polynomial) -> Polynomial:
    return reduce(poly.multiplied, polynomials, poly.number(1))


def _times(*ranges: Interval) -> Interval:
    """Return the range of a product."""
    one: Interval = (1, 1)
    return reduce(times, ranges, one)


def _added(*ranges: Interval) -> Interval:
    """Return the range of a sum."""
    return sum(low for low, _ in ranges), sum(high for _, high in ranges)


def _apart(one: Interval, two: Interval) -> Interval:
    """Return the range of a difference."""
    return one[0] - two[1], one[1] - two[0]


def _anonymous(low: Bound, high: Bound) -> Dim:
    return _dim((), low, high)


def _dim(parts: Parts, low: Bound, high: Bound) -> Dim:
    return Dim(parts, *_limits(low, high))


def _limits(low: Bound, high: Bound) -> tuple[int, int | None]:
    """The range of a dim: what is beyond LEAST and MOST says no more, and its digits would double with each square."""
    least = LEAST if low <= LEAST else int(min(low, MOST))
    return least, None if high > MOST else int(max(high, LEAST))

"""Arithmetic with sizes that preserves names: equal arithmetic on equal sizes results in equal names.

    mul(N, 4) and add(N, N, N, N) are one term; floordiv(mul(N, 4), 4) is N again
    floordiv(add(N, 1), 2) is one term, whether a convolution, a pool or a Slice computes it

A named size is a polynomial over names with integer coefficients (`polynomial`). A size that is no polynomial gets a
name with a stored definition. Its definition is a rounded quotient `floor(P / n)`, a positive part `max(0, P)`, or an
`opaque` function. The minimum and the maximum of two sizes are made from positive parts. Elements of integer tensors
are sizes here, too, and may be negative.
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
"""The smallest element that an integer tensor can contain. A `Dim` uses it as `lo` if there is no lower bound."""

MOST = 2**63
"""Larger than every element of an integer tensor. A greater upper bound is not stored."""

ANY = Dim((), LEAST)
"""An unknown element. Unlike an unknown size, it may be negative."""

GREATEST = 2**31 - 1
"""The largest size that an axis of a tensor can have."""


def bounds(size: Size) -> Interval:
    """Return the smallest and the largest value that an element can have, infinite without a bound."""
    if isinstance(size, int):
        return name_table.capped(size, size)
    return (-inf if size.lo <= LEAST else size.lo), (inf if size.hi is None else size.hi)


def as_size(element: Size) -> Size:
    """Return an element that is used as a size. It is not negative, because the model would fail.

    Return UNKNOWN for a number that can't be a size.
    """
    if isinstance(element, int):
        return element if 0 <= element <= GREATEST else UNKNOWN
    return element if element.lo >= 0 else Dim(element.parts, 0, element.hi, element.one)


def maybe_negative(element: Size) -> bool:
    """Return whether an element can be negative."""
    return element < 0 if isinstance(element, int) else element.lo < 0


@dataclass(slots=True)
class Terms:
    """The names that one analysis creates, and their definitions."""

    names: NameTable = field(default_factory=NameTable)
    _meanings: dict[Parts, Polynomial] = field(default_factory=dict)
    _sizes: dict[Polynomial, Size] = field(default_factory=dict)
    _answers: dict[tuple[str, tuple[Size, ...]], Size] = field(default_factory=dict)
    """A cache of results, because a model has few distinct sizes and computes with each many times."""

    # --- sums and products --------------------------------------------------------------------------------------------

    def add(self, *sizes: Size) -> Size:
        """Return the sum: a number or a dim.

        The dim has a name if all sizes are numbers or have names, unless the name would be too long.
        """
        numbers = _numbers(sizes)
        return sum(numbers) if numbers is not None else self._once("add", sizes, poly.added, _added)

    def mul(self, *sizes: Size) -> Size:
        """Return the product; 0 if a factor is 0."""
        numbers = _numbers(sizes)
        if numbers is not None:
            return prod(numbers)
        return 0 if 0 in sizes else self._once("mul", sizes, _multiplied, _times)

    def sub(self, a: Size, b: Size) -> Size:
        """Return a - b."""
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return self._once("sub", (a, b), poly.subtracted, _apart)

    # --- quotients ----------------------------------------------------------------------------------------------------

    def floordiv(self, a: Size, by: Size, plus: int = 0) -> Size:
        """Return (a + plus) / by, rounded down."""
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
        """Return a / by, rounded up."""
        return self.floordiv(a, by, by - 1)

    def quotient(self, a: Size, by: Size) -> Size:
        """Return a / by if the division provably has no remainder for any sizes; else UNKNOWN."""
        dividend, divisor = self._polynomial(a), self._polynomial(by)
        if dividend is None or divisor is None:
            return UNKNOWN
        exact = poly.quotient(dividend, divisor)
        return UNKNOWN if exact is None else self._size(exact)

    def missing_size(self, source: Sequence[Size], others: Sequence[Size]) -> Size:
        """Return the size that, multiplied by `others`, results in the product of `source`: the -1 of a Reshape.

        Equal sizes on both sides cancel. A quotient by a number is rounded down, because the runtime refuses a reshape
        with a remainder. Return UNKNOWN if numbers do not divide without a remainder, or if no quotient by a name is
        provable.
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
        """Return the remainder of a / by, where the quotient is rounded down. It has the sign of the divisor."""
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
                pass  # the name would be too long
        return self.sub(a, self.mul(by, self.floordiv(a, by)))

    # --- order --------------------------------------------------------------------------------------------------------

    def maximum(self, a: Size, b: Size) -> Size:
        """Return the larger of two sizes."""
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
        """Return the smaller of two sizes."""
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
        """Return the smallest and the largest value that a - b can have: (0, 0) if both are provably equal."""
        one, two = self._polynomial(a), self._polynomial(b)
        if one is None or two is None:
            return _apart(bounds(a), bounds(b))
        if one == two:
            return 0, 0
        if isinstance(a, int) or isinstance(b, int):  # the range of the other size is only shifted
            return _apart(self.names.interval(one), self.names.interval(two))
        return self.names.interval(poly.subtracted(one, two))

    def factor(self, size: Size) -> int:
        """Return the largest absolute coefficient in a size, including its constant term; 0 if the size has no name."""
        polynomial = self._polynomial(size) or ()
        return max((abs(factor) for _, factor in polynomial), default=0)

    def number(self, size: Size, numbers: Mapping[Parts, int]) -> int | None:
        """Return the value of a size if names have these numbers; None if the size contains any other name."""
        polynomial = self._polynomial(size)
        return None if polynomial is None else self.names.number(polynomial, numbers)

    def text(self, size: Size) -> str:
        """Return the size as arithmetic over names; "?" for a size without a name."""
        polynomial = self._polynomial(size)
        return "?" if polynomial is None else poly.text(polynomial)

    # --- names --------------------------------------------------------------------------------------------------------

    def opaque(self, kind: str, *sizes: Size, low: Bound = -inf, high: Bound = inf) -> Size:
        """Return the result of an unknown function: equal `kind` and equal sizes result in an equal name.

        The result has the range `low` to `high`. It has no name if a size has none, or if the name would be too long.
        """
        polynomials = self._polynomials(sizes)
        if polynomials is None:
            return _anonymous(low, high)
        try:
            return self._alone(f"{kind}({', '.join(map(poly.text, polynomials))})", (low, high))
        except TooLongError:
            return _anonymous(low, high)  # the name would be too long

    def _alone(self, text: str, interval: Interval) -> Dim:
        """Return a dim with this text as its name, or without a name if the text is too long."""
        if len(text) > LONGEST:
            return _anonymous(*interval)
        parts = (f"?={text}",)  # an axis of a tensor has another name, which ends in .0, .1 ...
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

        `exact` computes the result from polynomials. This is impossible if a size has no name or the result's name
        would be too long. `interval` then computes the range of the result from the ranges of the sizes.
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
                pass  # the name would be too long
        return _anonymous(*interval(*map(bounds, sizes)))

    def _polynomials(self, sizes: tuple[Size, ...]) -> list[Polynomial] | None:
        """Return the sizes as polynomials; None if a size has no name."""
        found = [polynomial for size in sizes if (polynomial := self._polynomial(size)) is not None]
        return found if len(found) == len(sizes) else None

    def _polynomial(self, size: Size) -> Polynomial | None:
        """Return the size as a polynomial; None for a size without a name."""
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
        """Return a polynomial as a size: an int, or a dim with a name and a range."""
        number = poly.constant(polynomial)
        if number is not None:
            return number
        found = self._sizes.get(polynomial)
        if found is None:
            found = self._sizes[polynomial] = self._described(polynomial)
        return found

    def _described(self, polynomial: Polynomial) -> Size:
        """Return the dim for a polynomial with names. It has no name if the name would be too long."""
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
    """Return the sizes as numbers; None if a size is not a number."""
    found = [size for size in sizes if isinstance(size, int)]
    return found if len(found) == len(sizes) else None


def _multiplied(*polynomials: Polynomial) -> Polynomial:
    return reduce(poly.multiplied, polynomials, poly.number(1))


def _times(*ranges: Interval) -> Interval:
    """Return the range of the product of sizes with these ranges."""
    one: Interval = (1, 1)
    return reduce(times, ranges, one)


def _added(*ranges: Interval) -> Interval:
    """Return the range of the sum of sizes with these ranges."""
    return sum(low for low, _ in ranges), sum(high for _, high in ranges)


def _apart(one: Interval, two: Interval) -> Interval:
    """Return the range of a - b, if a has the range `one` and b the range `two`."""
    return one[0] - two[1], one[1] - two[0]


def _anonymous(low: Bound, high: Bound) -> Dim:
    return _dim((), low, high)


def _dim(parts: Parts, low: Bound, high: Bound) -> Dim:
    return Dim(parts, *_limits(low, high))


def _limits(low: Bound, high: Bound) -> tuple[int, int | None]:
    """Return the range of a dim.

    Bounds beyond LEAST and MOST are dropped, because their digits would double with each square.
    """
    least = LEAST if low <= LEAST else int(min(low, MOST))
    return least, None if high > MOST else int(max(high, LEAST))

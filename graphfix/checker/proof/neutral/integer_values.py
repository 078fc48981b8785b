"""Shape arithmetic: operators on integers that are all known, as numbers or as terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof.core import polynomials as poly
from graphfix.checker.proof.core.sizes import all_known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.core.arithmetic import Arithmetic
    from graphfix.checker.proof.core.sizes import Size
    from graphfix.checker.proof.core.terms import ProofValue, TermTable

_LIMITS = {"int32": 1 << 31, "int64": 1 << 63}
_EXACT_AS_DOUBLE = 1 << 53
_SIZE_BITS = 31
"""The bits of the number of elements on an axis."""
SMALL = "in shape arithmetic, sizes and the numbers computed from them are below 2**31"
"""An assumption for operators that read only the lower 32 bits of sizes and of numbers computed from sizes."""
LARGE = "what shapes are computed from products of sizes by is below 2**63"
"""An assumption for products that may exceed 64 bits although each size fits in 31 bits."""
NO_DIVISOR_IS_0 = "no size that shapes are divided by is 0"


def _small(*numbers: int) -> bool:
    """Return whether all integers are below 2**31 in magnitude.

    Of larger integers, onnxruntime's Max and Min compare only the lower 32 bits.
    """
    return all(abs(number) < _LIMITS["int32"] for number in numbers)


RULES: Mapping[str, Callable[[int, int], int | None]] = {
    "add": lambda one, two: one + two,
    "sub": lambda one, two: one - two,
    "mul": lambda one, two: one * two,
    "max": lambda one, two: max(one, two) if _small(one, two) else None,
    "min": lambda one, two: min(one, two) if _small(one, two) else None,
    # Operators round negative quotients differently, so only numbers from 0 on are divided. Sizes are never negative.
    "div": lambda one, two: one // two if one >= 0 and two > 0 else None,
    "mod": lambda one, two: one % two if one >= 0 and two > 0 else None,
}


def _divided(arithmetic: Arithmetic, one: Size, two: Size) -> Size | None:
    """Return `one / two` rounded towards zero, as in C; None if the quotient is not known as a term."""
    least = arithmetic.least(one)
    if not isinstance(two, int):
        return arithmetic.quotient(one, two) if least >= 0 and arithmetic.least(two) >= 0 else None
    if two < 1 or least >= 0:
        return arithmetic.floordiv(one, two) if two > 0 else None
    above, below = arithmetic.greater(one, 0), arithmetic.sub(0, one)
    positive = None if above is None else arithmetic.floordiv(above, two)
    if positive is None or least > -two:  # (N - 1) / 4 is 0 where N is 0
        return positive
    beneath = None if below is None else arithmetic.greater(below, 0)
    negative = None if beneath is None else arithmetic.floordiv(beneath, two)
    return None if negative is None else arithmetic.sub(positive, negative)


def _rest(arithmetic: Arithmetic, one: Size, two: Size) -> Size | None:
    """Return the remainder of `one / two`; None unless `two` is a number above 0 and `one` is never negative.

    With a negative dividend, operators disagree on the sign of the remainder.
    """
    return arithmetic.mod(one, two) if isinstance(two, int) and two > 0 and arithmetic.least(one) >= 0 else None


TERMS: Mapping[str, Callable[[Arithmetic, Size, Size], Size | None]] = {
    "add": lambda arithmetic, one, two: arithmetic.add(one, two),
    "sub": lambda arithmetic, one, two: arithmetic.sub(one, two),
    "mul": lambda arithmetic, one, two: arithmetic.mul(one, two),
    "max": lambda arithmetic, one, two: arithmetic.greater(one, two),
    "min": lambda arithmetic, one, two: arithmetic.lesser(one, two),
    "div": _divided,
    "mod": _rest,
}
NARROW = frozenset({"max", "min"})
"""The rules whose operators read only the lower 32 bits, even of wider numbers."""
DIVIDING = frozenset({"div", "mod"})
"""The rules that fail if the second operand is 0."""


def computed(table: TermTable, rule: str, views: Sequence[ProofValue | None], dtype: str | None) -> ProofValue | None:
    """Return the result of an operator on two scalars or vectors of known integers, as such a vector or scalar.

    `rule` is a key of RULES, and `dtype` is int32 or int64. Return None if an integer is unknown, or if a result is
    unknown or does not fit the type.
    """
    if len(views) != 2 or dtype not in _LIMITS:  # noqa: PLR2004 - two operands
        return None
    found = paired(views[0], views[1], lambda one, two: _computed(table, rule, (one, two), dtype))
    if found is None:
        return None
    return table.integers(found, dtype, scalar=all(view is not None and view.sizes == () for view in views))


def paired(
    one: ProofValue | None, two: ProofValue | None, rule: Callable[[Size, Size], Size | None]
) -> tuple[Size, ...] | None:
    """Return `rule` applied to the known integers of two values, element by element; a single integer is repeated.

    Return None if integers or a result are unknown, or if the lengths do not fit.
    """
    if one is None or two is None or one.content is None or two.content is None:
        return None
    length = max(len(one.content), len(two.content))
    if min(len(one.content), len(two.content)) not in (1, length):
        return None
    return all_known(map(rule, repeated(one, length), repeated(two, length)))


def _computed(table: TermTable, rule: str, pair: tuple[Size, Size], dtype: str) -> Size | None:
    """Return the result of an operator on two integers.

    Dividing by a term that may be 0 is recorded as an assumption.
    """
    one, two = pair
    if isinstance(one, int) and isinstance(two, int):
        return fitted_size(table, RULES[rule](one, two), dtype)
    found = TERMS[rule](table.arithmetic, one, two)
    if found is not None and rule in DIVIDING and table.arithmetic.least(two) < 1:
        table.assumptions[NO_DIVISOR_IS_0] = None
    return fitted_size(table, found, "int32" if rule in NARROW else dtype)


def fitted_size(table: TermTable, number: Size | None, dtype: str) -> Size | None:
    """Return `number` if it fits the type; None if it is None or can't fit.

    For a term, the assumption that it fits is recorded. For int64 no assumption is needed if 63 bits are enough for all
    sizes below 2**31. A term that is out of range for all sizes, or has a coefficient out of range, does not fit.
    """
    limit = _LIMITS[dtype]
    if number is None or isinstance(number, int):
        return number if number is not None and -limit <= number < limit else None
    least, most = table.arithmetic.difference_bounds(number, 0)
    polynomial = poly.polynomial(number)
    if least >= limit or most < -limit or any(factors and abs(factor) >= limit for factors, factor in polynomial):
        return None
    if dtype == "int32":
        table.assumptions[SMALL] = None
    elif poly.bits(polynomial, _SIZE_BITS) >= limit.bit_length() - 1:
        table.assumptions[LARGE] = None
    return number


def repeated(view: ProofValue, length: int) -> Sequence[Size]:
    """Return the known integers of a scalar or vector. A single integer is repeated to this length."""
    content = view.content or ()
    return content if len(content) == length else content * length


# --- comparisons ------------------------------------------------------------------------------------------------------


def decided(arithmetic: Arithmetic, relation: str, one: Size, two: Size) -> int | None:
    """Return 1 if a relation is true for all sizes, 0 if it is false for all sizes, and None if neither is known.

    `relation` is "equal", or begins with "less" or "greater" and may end in "equal".
    """
    low, high = arithmetic.difference_bounds(one, two)
    if relation == "equal":
        return 1 if low == high == 0 else 0 if low > 0 or high < 0 else None
    least, most = (low, high) if relation.startswith("greater") else (-high, -low)
    bound = 0 if relation.endswith("equal") else 1
    return 1 if least >= bound else 0 if most < bound else None


# --- ranges and slices ------------------------------------------------------------------------------------------------


def span(start: int, limit: int, step: int) -> int | None:
    """Return how many integers are in the range from `start` to before `limit`; None for a step of 0."""
    return max(-((start - limit) // step), 0) if step else None


def span_of(arithmetic: Arithmetic, start: Size, limit: Size, step: int) -> Size | None:
    """Return how many integers are in a range whose bounds may be terms.

    Return None for a step of 0, for two numbers that are too far apart or too large, or if the result has too many
    terms.
    """
    ends = [end for end in (start, limit) if isinstance(end, int)]
    if len(ends) > 1 and (abs(ends[1] - ends[0]) >= _LIMITS["int32"] or max(map(abs, ends)) >= _EXACT_AS_DOUBLE):
        return None  # a runtime's difference may overflow its type or be inexact in float64
    room = arithmetic.sub(limit, start) if step > 0 else arithmetic.sub(start, limit)
    count = arithmetic.ceildiv(room, abs(step)) if step and room is not None else None
    return None if count is None else arithmetic.greater(count, 0)


def slice_indices(size: int, start: int, end: int, step: int) -> range | None:
    """Return the indices that a Slice selects on an axis of `size`; None for a step of 0 or where runtimes differ.

    Runtimes differ for two backward slices. One starts in front of the axis: by the ONNX specification and in
    onnxruntime it starts at element 0, but in Python and in onnx's reference it selects nothing. The other ends at the
    largest integer, which onnxruntime treats as the beginning of the axis.
    """
    if not step or (step < 0 and (start < -size or end >= _LIMITS["int32"] - 1)):
        return None
    return range(*slice(start, end, step).indices(size))


def cut_size(arithmetic: Arithmetic, size: Size, start: Size, end: Size, step: Size) -> Size | None:
    """Return how many elements of an axis a forward Slice selects whose bounds may be terms.

    Return None if the step is not a number above 0, or if a bound may count from either end.
    """
    first, last = _place(arithmetic, start, size), _place(arithmetic, end, size)
    if first is None or last is None or not isinstance(step, int) or step < 1:
        return None
    taken = arithmetic.sub(last, first)
    count = None if taken is None else arithmetic.ceildiv(taken, step)
    return None if count is None else arithmetic.greater(count, 0)


def _place(arithmetic: Arithmetic, bound: Size, size: Size) -> Size | None:
    """Return a bound of a Slice as an index from 0 to `size`; None if it is not known whether the bound is negative."""
    if isinstance(bound, int) and bound >= _LIMITS["int32"] - 1:
        return size  # no axis is longer
    if isinstance(bound, int) and bound <= -_LIMITS["int32"]:
        return 0
    low, high = arithmetic.difference_bounds(bound, 0)
    if low >= 0:
        return arithmetic.lesser(bound, size)
    if high >= 0:
        return None
    back = arithmetic.add(bound, size)
    return None if back is None else arithmetic.greater(back, 0)

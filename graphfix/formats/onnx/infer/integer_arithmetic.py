"""ONNX's arithmetic on two elements of integer tensors, and comparisons where the sizes' ranges decide them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from graphfix.shapes.shape import UNKNOWN, Size
from graphfix.shapes.terms import Terms, bounds


def _divided(terms: Terms, a: Size, b: Size) -> Size:
    """Whole numbers are divided as C does: rounded towards 0."""
    if b == 1:
        return a
    if bounds(a)[0] >= 0 and bounds(b)[0] >= 0 and b != 0:
        return terms.floordiv(a, b)
    if not isinstance(b, int) or b < 1:
        return UNKNOWN
    positive = terms.floordiv(terms.maximum(a, 0), b)
    if bounds(a)[0] > -b:  # (N - 1) / 4 is 0 where N is 0
        return positive
    return terms.sub(positive, terms.floordiv(terms.maximum(terms.mul(a, -1), 0), b))


def rest(terms: Terms, a: Size, b: Size) -> Size:
    """Mod of whole numbers has the sign of the divisor."""
    return terms.mod(a, b) if isinstance(b, int) and b > 0 else UNKNOWN


def rest_of_c(terms: Terms, a: Size, b: Size) -> Size:
    """Mod with fmod has the sign of what is divided."""
    quotient = _divided(terms, a, b)
    return UNKNOWN if quotient == UNKNOWN else terms.sub(a, terms.mul(b, quotient))


def _greater(terms: Terms, a: Size, b: Size) -> Size:
    low, high = terms.order(a, b)
    return 1 if low > 0 else 0 if high <= 0 else UNKNOWN


def _equal(terms: Terms, a: Size, b: Size) -> Size:
    low, high = terms.order(a, b)
    return 1 if low == high == 0 else 0 if low > 0 or high < 0 else UNKNOWN


def negated(element: Size) -> Size:
    """A bool turned, where it is known."""
    return 1 - element if isinstance(element, int) else UNKNOWN


def _smaller_numbers(rule: Callable[[Terms, Size, Size], Size]) -> Callable[[Terms, Size, Size], Size]:
    """Max and Min of onnxruntime look at the lower half of a number that has more than 32 bits."""

    def ruled(terms: Terms, a: Size, b: Size) -> Size:
        small = all(abs(number) < 1 << 31 for number in (a, b) if isinstance(number, int))
        return rule(terms, a, b) if small else UNKNOWN

    return ruled


ARITHMETIC: Mapping[str, Callable[[Terms, Size, Size], Size]] = {
    "Add": lambda terms, a, b: terms.add(a, b),
    "Sub": lambda terms, a, b: terms.sub(a, b),
    "Mul": lambda terms, a, b: terms.mul(a, b),
    "Div": _divided,
    "Max": _smaller_numbers(lambda terms, a, b: terms.maximum(a, b)),
    "Min": _smaller_numbers(lambda terms, a, b: terms.minimum(a, b)),
    "Equal": _equal,
    "Greater": _greater,
    "Less": lambda terms, a, b: _greater(terms, b, a),
    "GreaterOrEqual": lambda terms, a, b: negated(_greater(terms, b, a)),
    "LessOrEqual": lambda terms, a, b: negated(_greater(terms, a, b)),
    "And": lambda _, a, b: 0 if 0 in (a, b) else 1 if a == b == 1 else UNKNOWN,
    "Or": lambda _, a, b: 1 if 1 in (a, b) else 0 if a == b == 0 else UNKNOWN,
}
"""By operator, of two elements."""

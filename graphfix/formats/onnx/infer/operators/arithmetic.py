"""Rules of arithmetic, comparisons and logic on integers: Add, Mul, Div, Mod, Max, Equal, And, Where, Neg, Clip.

The shapes of most results follow from the operator's row in the catalogue: these operators broadcast. Source: the ONNX
operator specification; where it leaves the result open, what runtimes compute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product

from graphfix.formats.onnx.infer.call import Call, Rule
from graphfix.formats.onnx.infer.operators.elementwise import elementwise_before_broadcasting, first
from graphfix.formats.onnx.infer.operators.integers import (
    Bounds,
    BoundsRule,
    Elements,
    Given,
    IntegerRule,
    bounds_of,
    columns,
)
from graphfix.graph.view import Node
from graphfix.shapes.dim import UNKNOWN, Size
from graphfix.shapes.terms import Terms, bounds

# --- elements: two operands -------------------------------------------------------------------------------------------


def _divided(terms: Terms, a: Size, b: Size) -> Size:
    """Return the quotient as C computes it: rounded towards 0."""
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


def floor_remainder(terms: Terms, a: Size, b: Size) -> Size:
    """Return Mod with fmod=0: the remainder has the sign of the divisor."""
    return terms.mod(a, b) if isinstance(b, int) and b > 0 else UNKNOWN


def c_remainder(terms: Terms, a: Size, b: Size) -> Size:
    """Return Mod with fmod=1: the remainder has the sign of the dividend."""
    quotient = _divided(terms, a, b)
    return UNKNOWN if quotient == UNKNOWN else terms.sub(a, terms.mul(b, quotient))


def _greater(terms: Terms, a: Size, b: Size) -> Size:
    low, high = terms.order(a, b)
    return 1 if low > 0 else 0 if high <= 0 else UNKNOWN


def _equal(terms: Terms, a: Size, b: Size) -> Size:
    low, high = terms.order(a, b)
    return 1 if low == high == 0 else 0 if low > 0 or high < 0 else UNKNOWN


def _negated(element: Size) -> Size:
    """Return the negation of a bool; unknown if the bool is not known."""
    return 1 - element if isinstance(element, int) else UNKNOWN


def _of_32_bits(rule: Callable[[Terms, Size, Size], Size]) -> Callable[[Terms, Size, Size], Size]:
    """Return the rule without numbers of more than 32 bits: onnxruntime's Max and Min compare their lower halves."""

    def ruled(terms: Terms, a: Size, b: Size) -> Size:
        small = all(abs(number) < 1 << 31 for number in (a, b) if isinstance(number, int))
        return rule(terms, a, b) if small else UNKNOWN

    return ruled


ARITHMETIC: Mapping[str, Callable[[Terms, Size, Size], Size]] = {
    "Add": lambda terms, a, b: terms.add(a, b),
    "Sub": lambda terms, a, b: terms.sub(a, b),
    "Mul": lambda terms, a, b: terms.mul(a, b),
    "Div": _divided,
    "Max": _of_32_bits(lambda terms, a, b: terms.maximum(a, b)),
    "Min": _of_32_bits(lambda terms, a, b: terms.minimum(a, b)),
    "Equal": _equal,
    "Greater": _greater,
    "Less": lambda terms, a, b: _greater(terms, b, a),
    "GreaterOrEqual": lambda terms, a, b: _negated(_greater(terms, b, a)),
    "LessOrEqual": lambda terms, a, b: _negated(_greater(terms, a, b)),
    "And": lambda _, a, b: 0 if 0 in (a, b) else 1 if a == b == 1 else UNKNOWN,
    "Or": lambda _, a, b: 1 if 1 in (a, b) else 0 if a == b == 0 else UNKNOWN,
}
"""By operator: the result of two elements."""


def _elements_of_pairs(call: Call, _: str) -> Elements | None:
    """Compute element by element after broadcasting; None for the attribute `axis` of operator sets before 7."""
    if "axis" in call.attributes:
        return None
    rule = ARITHMETIC[call.op]
    found = columns(call, 2)
    return None if found is None else [rule(call.terms, *column) for column in found]


def _remainders(call: Call, _: str) -> Elements | None:
    fmod, found = call.flag("fmod", 0), columns(call, 2)
    if fmod is None or found is None:
        return None
    return [(c_remainder if fmod else floor_remainder)(call.terms, *column) for column in found]


# --- elements: one or three operands ----------------------------------------------------------------------------------


def _negative_elements(call: Call, _: str) -> Elements | None:
    elements = call.elements(0)
    return None if elements is None else [call.terms.mul(element, -1) for element in elements]


def _negated_elements(call: Call, _: str) -> Elements | None:
    elements = call.elements(0)
    return None if elements is None else [_negated(element) for element in elements]


def _chosen_elements(call: Call, _: str) -> Elements | None:
    found = columns(call, 3)
    if found is None:
        return None
    return [
        one if condition == 1 else two if condition == 0 or one == two else UNKNOWN for condition, one, two in found
    ]


# --- bounds -----------------------------------------------------------------------------------------------------------


def _bounds_of_pairs(compute: Callable[[int, int], int]) -> BoundsRule:
    """Return the rule of a sum or product: its extremes are among the results of the operands' extremes."""

    def rule(_: Node, given: Given, __: int) -> Bounds | None:
        one, two = given
        if one is None or two is None:
            return None
        found = [compute(a, b) for a, b in product(one, two)]
        return min(found), max(found)

    return rule


def _negative_bounds(_: Node, given: Given, __: int) -> Bounds | None:
    return None if given[0] is None else (-given[0][1], -given[0][0])


def _absolute_bounds(_: Node, given: Given, __: int) -> Bounds | None:
    if given[0] is None:
        return None
    low, high = given[0]
    return max(low, -high, 0), max(-low, high)


def _bounds_of_extreme(choose: Callable[[Iterable[int]], int]) -> BoundsRule:
    """Return the rule of Min or Max: the extreme of the least elements, and that of the largest ones."""

    def rule(_: Node, given: Given, __: int) -> Bounds | None:
        known_bounds = [each for each in given if each is not None]
        if len(known_bounds) < len(given):
            return None
        return choose(low for low, _ in known_bounds), choose(high for _, high in known_bounds)

    return rule


def _clipped_bounds(node: Node, given: Given, _: int) -> Bounds | None:
    """Return the bounds of Clip, which applies the lower limit first, then the upper one."""
    if given[0] is None:
        return None
    low, high = given[0]
    least, most = ((given[at] if at < len(given) else None) for at in (1, 2))
    absent = [at >= len(node.operands) or node.operands[at] is None for at in (1, 2)]
    if (least is None and not absent[0]) or (most is None and not absent[1]):
        return None
    if least is not None:
        low, high = max(low, least[0]), max(high, least[1])
    if most is not None:
        low, high = min(low, most[0]), min(high, most[1])
    return low, high


def _quotient_bounds(_: Node, given: Given, __: int) -> Bounds | None:
    """Return the bounds of Div, which rounds towards 0: no quotient by an integer is larger than the dividend."""
    if given[0] is None:
        return None
    most = max(-given[0][0], given[0][1])
    return (0 if given[0][0] >= 0 and given[1] is not None and given[1][0] >= 0 else -most), most


def _remainder_bounds(node: Node, given: Given, _: int) -> Bounds | None:
    """Return the bounds of Mod: a remainder is smaller than the divisor.

    It has the divisor's sign, or with `fmod` the dividend's sign.
    """
    if given[1] is None:
        return None
    most = max(-given[1][0], given[1][1], 1) - 1
    if node.attributes.get("fmod"):
        return -most, most
    return (-most if given[1][0] < 0 else 0), (most if given[1][1] > 0 else 0)


SHAPES: Mapping[str, Rule] = {
    **dict.fromkeys("Abs Clip Neg Not Sign".split(), first),
    **dict.fromkeys("Max Min Sum Mean".split(), elementwise_before_broadcasting),
}
INTEGERS: Mapping[str, IntegerRule] = {
    **dict.fromkeys(ARITHMETIC, _elements_of_pairs),
    "Mod": _remainders,
    "Neg": _negative_elements,
    "Not": _negated_elements,
    "Where": _chosen_elements,
}
BOUNDS: Mapping[str, BoundsRule] = {
    "Abs": _absolute_bounds,
    "Add": _bounds_of_pairs(lambda a, b: a + b),
    "Clip": _clipped_bounds,
    "Div": _quotient_bounds,
    "Max": _bounds_of_extreme(max),
    "Min": _bounds_of_extreme(min),
    "Mod": _remainder_bounds,
    "Mul": _bounds_of_pairs(lambda a, b: a * b),
    "Neg": _negative_bounds,
    "Sign": lambda *_: (-1, 1),
    "Sub": _bounds_of_pairs(lambda a, b: a - b),
    "Where": bounds_of(1, 2),
}

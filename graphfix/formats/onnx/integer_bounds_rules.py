"""How large the whole numbers that a node returns can get, by how large those are that it reads (ONNX).

What an operator returns beyond the bounds of its element type wraps there: that is for who asks (`integer_bounds`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod
from types import MappingProxyType
from typing import TypeAlias

from graphfix.graph.view import Node

Bounds: TypeAlias = tuple[int, int]
"""The least and the largest element."""
TYPES: Mapping[str, Bounds] = MappingProxyType(
    {
        "bool": (0, 1),
        **{f"int{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)},
        **{f"uint{bits}": (0, (1 << bits) - 1) for bits in (8, 16, 32, 64)},
    }
)
"""What an element type holds."""
Given: TypeAlias = Sequence[Bounds | None]
Rule: TypeAlias = Callable[[Node, Given, int], Bounds | None]
"""(node, the bounds of its operands, which result) -> its bounds; None where nothing is known."""


def _union(parts: Sequence[Bounds | None]) -> Bounds | None:
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _first(_: Node, given: Given, __: int) -> Bounds | None:
    return given[0] if given else None


def _all(_: Node, given: Given, __: int) -> Bounds | None:
    return _union(given)


def _from(*operands: int) -> Rule:
    def rule(_: Node, given: Given, __: int) -> Bounds | None:
        return _union([given[at] if at < len(given) else None for at in operands])

    return rule


def _corners(compute: Callable[[int, int], int]) -> Rule:
    """A sum or product is at its least and its largest where both operands are."""

    def rule(_: Node, given: Given, __: int) -> Bounds | None:
        one, two = given
        if one is None or two is None:
            return None
        found = [compute(a, b) for a, b in product(one, two)]
        return min(found), max(found)

    return rule


def _negated(_: Node, given: Given, __: int) -> Bounds | None:
    return None if given[0] is None else (-given[0][1], -given[0][0])


def _absolute(_: Node, given: Given, __: int) -> Bounds | None:
    if given[0] is None:
        return None
    low, high = given[0]
    return max(low, -high, 0), max(-low, high)


def _smallest(_: Node, given: Given, __: int) -> Bounds | None:
    """A minimum is no larger than any operand."""
    highs = [each[1] for each in given if each is not None]
    lows = [each[0] for each in given if each is not None]
    return (min(lows), min(highs)) if len(lows) == len(given) else None


def _largest(_: Node, given: Given, __: int) -> Bounds | None:
    highs = [each[1] for each in given if each is not None]
    lows = [each[0] for each in given if each is not None]
    return (max(lows), max(highs)) if len(lows) == len(given) else None


def _clipped(node: Node, given: Given, _: int) -> Bounds | None:
    """First the lower limit counts, then the upper one."""
    if given[0] is None:
        return None
    low, high = given[0]
    least, most = ((given[at] if at < len(given) else None) for at in (1, 2))
    absent = [at >= len(node.operands) or node.operands[at] is None for at in (1, 2)]
    if (least is None and not absent[0]) or (most is None and not absent[1]):
        return given[0] if all(absent) else None
    if least is not None:
        low, high = max(low, least[0]), max(high, least[1])
    if most is not None:
        low, high = min(low, most[0]), min(high, most[1])
    return low, high


def _quotient(_: Node, given: Given, __: int) -> Bounds | None:
    """Cut towards zero: no quotient by a whole number is larger than what is divided."""
    if given[0] is None:
        return None
    most = max(-given[0][0], given[0][1])
    return (0 if given[0][0] >= 0 and given[1] is not None and given[1][0] >= 0 else -most), most


def _remainder(node: Node, given: Given, _: int) -> Bounds | None:
    """Smaller than the divisor, of whose sign it is; with `fmod` of the sign of what is divided."""
    if given[1] is None:
        return None
    most = max(-given[1][0], given[1][1], 1) - 1
    if node.attributes.get("fmod"):
        return -most, most
    return (-most if given[1][0] < 0 else 0), (most if given[1][1] > 0 else 0)


def _summed(node: Node, given: Given, _: int) -> Bounds | None:
    """As many numbers as the operand has for each of the result; for a running sum at most all of an axis."""
    data, result = node.operand(0), node.results[0]
    if given[0] is None or result is None or not data.shape.static or not result.shape.static:
        return None
    if node.op == "CumSum":
        count = max(data.shape.numbers, default=1)
    else:
        count = prod(data.shape.numbers) // max(prod(result.shape.numbers), 1)
    return min(count * given[0][0], given[0][0], 0), max(count * given[0][1], given[0][1], 0)


def _position(node: Node, _: Given, __: int) -> Bounds | None:
    """Positions along an axis of operand 0."""
    axes, axis = node.operand(0).shape.axes, node.attributes.get("axis", -1 if node.op == "TopK" else 0)
    if axes is None or not isinstance(axis, int) or not -len(axes) <= axis < len(axes):
        return None
    size = axes[axis]
    return (0, max(size - 1, 0)) if isinstance(size, int) else None


def _top(node: Node, given: Given, result: int) -> Bounds | None:
    return _position(node, given, result) if result == 1 else given[0]


def _places(node: Node, _: Given, __: int) -> Bounds | None:
    shape = node.operand(0).shape
    return (0, max((*shape.numbers, 1)) - 1) if shape.static else None


def _sizes(node: Node, _: Given, __: int) -> Bounds | None:
    """A size that is not known is none that a tensor of TOSA could not have."""
    shape = node.operand(0).shape
    if node.op == "Shape" and not shape.static:
        return 0, TYPES["int32"][1]
    return (0, prod(shape.numbers) if node.op == "Size" else max(shape.numbers, default=0)) if shape.static else None


def _counted(_: Node, given: Given, __: int) -> Bounds | None:
    """From the first number on, and never as far as the second: at most as far as both."""
    return _union(given[:2])


def _filled(node: Node, _: Given, __: int) -> Bounds | None:
    return None if node.attributes.get("value") is not None else (0, 0)


def _padded(node: Node, given: Given, _: int) -> Bounds | None:
    if node.attributes.get("mode", "constant") != "constant":
        return given[0]
    absent = len(node.operands) <= 2 or node.operands[2] is None  # noqa: PLR2004 -- data, pads, the constant
    return _union([given[0], (0, 0) if absent else given[2]])


def _scattered(node: Node, given: Given, _: int) -> Bounds | None:
    plain = node.attributes.get("reduction", "none") in ("none", b"none", "max", b"max", "min", b"min")
    return _union([given[0], given[2]]) if plain else None


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(
            "Identity Reshape Squeeze Unsqueeze Flatten Transpose Slice Expand Tile Split Cast Gather GatherElements"
            " GatherND ReduceMax ReduceMin MaxPool DepthToSpace SpaceToDepth Compress ReverseSequence".split(),
            _first,
        ),
        "Trilu": lambda _, given, __: _union([given[0], (0, 0)]),
        "Concat": _all,
        "Min": _smallest,
        "Max": _largest,
        "Where": _from(1, 2),
        "OneHot": _from(2),
        "Add": _corners(lambda a, b: a + b),
        "Sub": _corners(lambda a, b: a - b),
        "Mul": _corners(lambda a, b: a * b),
        "Neg": _negated,
        "Abs": _absolute,
        "Sign": lambda *_: (-1, 1),
        "Clip": _clipped,
        "Div": _quotient,
        "Mod": _remainder,
        **dict.fromkeys(("ReduceSum", "CumSum"), _summed),
        **dict.fromkeys(("ArgMax", "ArgMin"), _position),
        "TopK": _top,
        "NonZero": _places,
        **dict.fromkeys(("Shape", "Size"), _sizes),
        "Range": _counted,
        "ConstantOfShape": _filled,
        "Pad": _padded,
        **dict.fromkeys(("ScatterElements", "ScatterND"), _scattered),
    }
)
"""By operator of the standard set."""

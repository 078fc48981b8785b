"""Write a nearest-neighbour enlargement by whole factors as a stretch (ONNX only; with target tosa, or where named).

    y[1,3,8,8] = Resize(x[1,3,4,4], , [1,1,2,2])
    y = Reshape(Expand(Reshape(x, [1,3,4,1,4,1]), [1,3,4,2,4,2]), [1,3,8,8])

Each element is repeated, so every bit is the same; by factors of 1 alone there is nothing to repeat, and the node goes.
Tool chains read the coordinates of a nearest Resize in different ways (rounded instead of cut is common), and the
result is silently wrong.

That it repeats is certain for the coordinates `asymmetric` with `floor` (also Upsample, and Resize of opset 10, which
have no other), and for `half_pixel` and `pytorch_half_pixel` with either kind of rounding: by a whole factor the source
of an element is never half-way between two. Other coordinates, factors that are no whole numbers and modes that
interpolate stay. Sizes must be numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from math import prod

from graphfix.graph.edits import Edit, Fold, Leave, New, Replace, Source, reshape, vector
from graphfix.graph.view import Node, optional_operand
from graphfix.shapes.dim import Shape, Undecided
from graphfix.targets.tosa.either_format import MAX_RANK

ON = frozenset({("", "Resize"), ("", "Upsample")})
CODE = "GF304"
EITHER = ("round_prefer_floor", "round_prefer_ceil")
REPEATS = {"asymmetric": ("floor",), "half_pixel": EITHER, "pytorch_half_pixel": EITHER}
"""Coordinates -> the roundings that repeat elements when the factor is a whole number."""
COORDINATES_SINCE = 11
"""The opset from which a Resize declares its coordinates."""
SIZES_AT = 3
"""The operand of Resize that holds the result's sizes; scales come before it."""


def plan(node: Node) -> Iterator[Edit]:
    """Replace a Resize that repeats elements."""
    value, result = node.operand(0), node.results[0]
    if result is None or not _repeats(node):
        return
    if not (value.ranked.static and result.ranked.static):
        raise Undecided(f"the sizes of {value.shape} and {result.shape} are not all numbers")
    have, want = value.shape.numbers, result.shape.numbers
    factors = _factors(node, have, want)
    if factors is None or prod(factors) == 1:
        yield from [Fold(CODE)] if factors else ()
        return
    room = MAX_RANK - len(have)
    if room < 1:
        yield Leave(None, f"it is of rank {len(have)}: a stretch takes one axis more, and TOSA has {MAX_RANK}", "GF301")
        return
    grown = [axis for axis, factor in enumerate(factors) if factor != 1]
    turns = [grown[start : start + room] for start in range(0, len(grown), room)]
    yield Replace(_repeated(node, 0, have, factors, turns), CODE)


def _repeats(node: Node) -> bool:
    """Whether it repeats elements wherever its factors are whole numbers."""
    declared = node.attributes
    if declared.get("mode", "nearest") != "nearest":
        return False
    if node.op == "Upsample" or node.version < COORDINATES_SINCE:
        return True
    coordinates = str(declared.get("coordinate_transformation_mode", "half_pixel"))
    rounding = declared.get("nearest_mode", "round_prefer_floor")
    return rounding in REPEATS.get(coordinates, ()) and declared.get("keep_aspect_ratio_policy", "stretch") == "stretch"


def _factors(node: Node, have: Sequence[int], want: Sequence[int]) -> list[int] | None:
    """How often each axis is repeated; None where the factor is no whole number, or there is no element."""
    if len(have) != len(want) or 0 in have or any(after % before for before, after in zip(have, want, strict=True)):
        return None
    factors = [after // before for before, after in zip(have, want, strict=True)]
    scales = _scales(node)
    if scales is None:
        return factors if len(node.operands) > SIZES_AT else None
    return factors if sorted(s for s in scales if s != 1) == sorted(f for f in factors if f != 1) else None


def _scales(node: Node) -> Sequence[float] | None:
    """The scales that the node declares; None where it declares sizes."""
    at = 1 if node.op == "Upsample" or node.version < COORDINATES_SINCE else 2
    value = optional_operand(node, at)
    if value is None:
        return None
    if value.elements is None:
        raise Undecided(f"its scales '{value.name}' are computed when the model runs")
    return [float(scale) for scale in value.elements] or None


def _repeated(node: Node, source: Source, sizes: Sequence[int], factors: Sequence[int], turns: list[list[int]]) -> New:
    """Repeat along the axes of each turn: a few axes at a time, so that no rank is above TOSA's."""
    axes, *rest = turns
    dtype, wide = node.operand(0).dtype, _split(sizes, axes, factors)
    split = reshape(node, source, _split(sizes, axes, [1] * len(sizes)), dtype)
    expanded = New("Expand", (split, vector(wide)), Shape(wide), dtype)
    grown = tuple(size * factors[axis] if axis in axes else size for axis, size in enumerate(sizes))
    new = reshape(node, expanded, grown, dtype)
    return _repeated(node, new, grown, factors, rest) if rest else new


def _split(sizes: Sequence[int], axes: Sequence[int], factors: Sequence[int]) -> tuple[int, ...]:
    """Behind each of these axes one of its factor: [3,4] at 1 by 2 -> [3,4,2]."""
    parts = ((size, factors[axis]) if axis in axes else (size,) for axis, size in enumerate(sizes))
    return tuple(chain.from_iterable(parts))

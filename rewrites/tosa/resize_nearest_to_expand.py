"""Write a nearest-neighbour enlargement by integer factors as a stretch (ONNX only; with target tosa, or named).

    y[1,3,8,8] = Resize(x[1,3,4,4], , [1,1,2,2])
    y = Reshape(Expand(Reshape(x, [1,3,4,1,4,1]), [1,3,4,2,4,2]), [1,3,8,8])

Each element is repeated, so every bit is the same. If all factors are 1, the node is removed. Tool chains read the
coordinates of a nearest Resize in different ways (they often round instead of truncating), and the result is then wrong
without a message.

The repetition is certain for the coordinates `asymmetric` with `floor` (also for Upsample, and for Resize of opset 10,
which have no other coordinates). It is also certain for `half_pixel` and `pytorch_half_pixel` with either kind of
rounding, because with an integer factor the source of an element is never half-way between two elements. Nodes with
other coordinates, with factors that are not integers, or with modes that interpolate are not changed. Sizes must be
numbers.
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
"""Coordinates -> the roundings that repeat elements if the factor is an integer."""
COORDINATES_SINCE = 11
"""The first opset in which a Resize declares its coordinates."""
SIZES_AT = 3
"""The index of Resize's operand with the sizes of the result. The operand before it contains the scales."""


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of a Resize that repeats elements. Raises Undecided if a size is not a number."""
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
    """Return whether the node repeats elements if its factors are integers."""
    declared = node.attributes
    if declared.get("mode", "nearest") != "nearest":
        return False
    if node.op == "Upsample" or node.version < COORDINATES_SINCE:
        return True
    coordinates = str(declared.get("coordinate_transformation_mode", "half_pixel"))
    rounding = declared.get("nearest_mode", "round_prefer_floor")
    return rounding in REPEATS.get(coordinates, ()) and declared.get("keep_aspect_ratio_policy", "stretch") == "stretch"


def _factors(node: Node, have: Sequence[int], want: Sequence[int]) -> list[int] | None:
    """Return the number of repetitions of each axis; None if a factor is not an integer, or there are no elements."""
    if len(have) != len(want) or 0 in have or any(after % before for before, after in zip(have, want, strict=True)):
        return None
    factors = [after // before for before, after in zip(have, want, strict=True)]
    scales = _scales(node)
    if scales is None:
        return factors if len(node.operands) > SIZES_AT else None
    return factors if sorted(s for s in scales if s != 1) == sorted(f for f in factors if f != 1) else None


def _scales(node: Node) -> Sequence[float] | None:
    """Return the scales that the node declares; None if it declares sizes. Raises Undecided for computed scales."""
    at = 1 if node.op == "Upsample" or node.version < COORDINATES_SINCE else 2
    value = optional_operand(node, at)
    if value is None:
        return None
    if value.elements is None:
        raise Undecided(f"its scales '{value.name}' are computed when the model runs")
    return [float(scale) for scale in value.elements] or None


def _repeated(node: Node, source: Source, sizes: Sequence[int], factors: Sequence[int], turns: list[list[int]]) -> New:
    """Return the new nodes that repeat the axes of each turn.

    Each turn has only a few axes, so that no value has more axes than TOSA supports.
    """
    axes, *rest = turns
    dtype, wide = node.operand(0).dtype, _split(sizes, axes, factors)
    split = reshape(node, source, _split(sizes, axes, [1] * len(sizes)), dtype)
    expanded = New("Expand", (split, vector(wide)), Shape(wide), dtype)
    grown = tuple(size * factors[axis] if axis in axes else size for axis, size in enumerate(sizes))
    new = reshape(node, expanded, grown, dtype)
    return _repeated(node, new, grown, factors, rest) if rest else new


def _split(sizes: Sequence[int], axes: Sequence[int], factors: Sequence[int]) -> tuple[int, ...]:
    """Return the sizes with an axis of the factor's size behind each of `axes`: [3,4], axis 1, factor 2 -> [3,4,2]."""
    parts = ((size, factors[axis]) if axis in axes else (size,) for axis, size in enumerate(sizes))
    return tuple(chain.from_iterable(parts))

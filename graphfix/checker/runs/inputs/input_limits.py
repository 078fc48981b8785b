"""Limits of input values: how operators map an interval of their result to an interval of their operand."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from graphfix.checker.runs.comparing.difference import Array
from graphfix.results.records import dataclass, field

Key = TypeVar("Key", bound=Hashable)
Interval = tuple[float, float]
"""The lowest and the highest value, both included. If both are of type int, only integers are drawn."""
_HALF, _QUARTER = 0.5, 0.25
MOST_STEPS = 64
"""The largest number of operators through which a value is traced back to an input."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the values of a model's inputs."""

    intervals: Mapping[str, Interval] = field(default_factory=dict)
    """Input name -> (lowest, highest), both included."""
    compared: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Input name -> the constants with which the model compares the input."""
    given: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Input name -> all elements of the input, for an input with few valid values."""


def meet(old: Interval | None, new: Interval) -> Interval:
    """Return the intersection of two intervals; `new` if there is no old one.

    If the intervals do not overlap, the result is the single number that is the higher of the two low ends.
    """
    low, high = new if old is None else (max(old[0], new[0]), min(old[1], new[1]))
    return (low, max(low, high))


def of_branches(reached: Iterable[tuple[Key, Interval]]) -> Iterator[tuple[Key, Interval]]:
    """Yield one interval for each input that reaches a choice between values, such as `Where(i < 0, i + 16, i)`.

    Each element of the result is from one of the values, so an input need not satisfy the intervals of both. If the
    intervals are disjoint ([-16, -1] and [0, 15]), the higher interval is used, else their intersection.
    """
    found: dict[Key, Interval] = {}
    for name, interval in reached:
        old = found.get(name, interval)
        is_apart = max(old[0], interval[0]) > min(old[1], interval[1])
        found[name] = max(old, interval) if is_apart else meet(old, interval)
    yield from found.items()


def below(size: int | None) -> Interval:
    """Return the interval of valid indices for an axis of this size: (0, size - 1).

    It is (0, 0) if the size is None or 0.
    """
    return 0, max(0, (size or 1) - 1)


def shortest(dims: Sequence[int | None]) -> int | None:
    """Return the smallest size; None if a size is unknown or there are no sizes."""
    known_dims = [dim for dim in dims if dim is not None]
    return min(known_dims) if known_dims and len(known_dims) == len(dims) else None


def solved(op: str, interval: Interval, constant: Array, *, reverse: bool) -> Interval | None:
    """Solve low <= x op constant <= high for x (`reverse`: constant op x). None if no interval is found.

    `op` is Add, Sub, Mul or Div. If `constant` has several elements, x satisfies the inequality for each of them.
    """
    if not constant.size or not np.isfinite(constant).all():
        return None
    low, high = interval
    least, most = float(np.min(constant)), float(np.max(constant))
    if op in ("Add", "Sub"):
        part = (low - least, high - most) if op == "Add" else (low + most, high + least)
        return (most - high, least - low) if reverse and op == "Sub" else part
    if most < 0:
        return solved(op, (-high, -low), -constant.astype(np.float64), reverse=reverse)
    if op == "Mul" and least > 0:
        return low / (least if low > 0 else most), high / (most if high > 0 else least)
    if op == "Div" and least > 0 and not reverse:
        return low * (most if low > 0 else least), high * (least if high > 0 else most)
    return None


def before_rounding(op: str, interval: Interval) -> Interval:
    """Return the interval of floats whose Cast to an integer, Floor, Ceil or Round is in `interval`.

    Floats close to the next integer beyond an end are excluded, because float32 may round them to that integer.
    """
    low, high = math.ceil(interval[0]), math.floor(interval[1])
    if op == "Ceil":
        return low - _HALF, high
    if op == "Round":
        return low - _QUARTER, high + _QUARTER
    return low, high + _HALF if op == "Floor" or high >= 0 else high


ROUNDING = frozenset({"Cast", "CastLike", "Floor", "Ceil", "Round"})
"""Operators that convert floats to integers."""


def solved_unary(op: str, interval: Interval) -> Interval | None:
    """Return the interval of x for which Neg(x), Abs(x) or Relu(x) is in `interval`; None for other operators."""
    low, high = interval
    positive = max(low, 0), max(high, 0)
    return {"Neg": (-high, -low), "Abs": positive, "Relu": positive}.get(op)


def solved_mod(interval: Interval, constant: Array) -> Interval | None:
    """Return an interval of x for which Mod(x, constant) is in `interval`; None if a divisor is below 1 or not finite.

    A number below the divisor is its own remainder, so the interval ends below the smallest divisor.
    """
    low, high = interval
    if not constant.size or not np.isfinite(constant).all() or np.min(constant) < 1:
        return None
    least = float(np.min(constant))
    below_divisor = high if constant.dtype.kind == "f" and high < least else min(high, least - 1)
    return max(low, 0), max(below_divisor, 0)

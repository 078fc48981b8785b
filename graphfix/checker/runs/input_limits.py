"""What is known of the values that inputs may have, and how arithmetic moves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from graphfix.checker.runs.difference import Array

Interval = tuple[int, int]
"""The lowest and the highest value, both allowed."""
MOST_STEPS = 64
"""How many operators back an operand's values are followed to the inputs that they come from."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is known of the values of the inputs."""

    intervals: Mapping[str, Interval] = field(default_factory=dict)
    """Input name -> (lowest, highest), both allowed."""
    compared: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Input name -> the constants that the model compares it with."""
    given: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Input name -> its elements, where few others would do."""


def meet(old: Interval | None, new: Interval) -> Interval:
    """Narrow what is known by one more demand; where they contradict, the higher low end stays."""
    low, high = new if old is None else (max(old[0], new[0]), min(old[1], new[1]))
    return (low, max(low, high))


def below(size: int | None) -> Interval:
    """Bound an index by the size of what it indexes; an unknown size has at least the element 0."""
    return 0, max(0, (size or 1) - 1)


def shortest(dims: Sequence[int | None]) -> int | None:
    """Return the smallest size; None where one of them is not known, or there is none."""
    known = [dim for dim in dims if dim is not None]
    return min(known) if known and len(known) == len(dims) else None


def solved(op: str, interval: Interval, known: Array, *, reverse: bool) -> Interval | None:
    """Solve low <= x op known <= high for x (`reverse`: known op x); None where no such interval is known."""
    if not known.size or not np.isfinite(known).all():
        return None
    low, high = interval
    least, most = int(np.min(known)), int(np.max(known))
    if op == "Add":
        return low - least, high - most
    if op == "Sub":
        return (most - high, least - low) if reverse else (low + most, high + least)
    if op == "Mul" and least > 0:
        return -(-low // least), high // most
    if op == "Div" and least > 0 and not reverse:
        return low * most, high * least
    return None

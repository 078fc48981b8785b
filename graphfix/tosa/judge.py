"""How far an output of a converted model is from what the runtime computes, and whether that is near enough.

A runtime has several sets of kernels, which differ among themselves. TOSA is near enough where it is near to one of
them: within the tolerance, within a step of an output's quantization (of float16: the next number), or as near as they
are to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from graphfix.results.records import dataclass

Array = np.ndarray[Any, Any]

TOLERANCE = 1e-3
"""How far an output may be from the original's, as a part of the range of its values."""

_ROUNDING = 1e-5
"""How far the difference of two dequantized numbers is from the scale, as a part of it: both are rounded."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is near enough."""

    atol: float | None = None
    rtol: float | None = None
    """What the user says: |a - b| <= atol + rtol * |a| for every element; neither: `TOLERANCE` of the range."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One output in one run."""

    largest: float
    """The largest difference from the nearest of the runtime's kernel sets."""
    relative: float | None
    """That as a part of the range of its values; None where it is constant."""
    within: bool


@dataclass(frozen=True, slots=True)
class Apart:
    """How far kernel sets are from each other: at the worst element, and all elements together."""

    largest: float
    mean: float
    """The root of the mean of the squares."""

    @staticmethod
    def of(runs: Sequence[Sequence[Array]]) -> Apart | None:
        """At most, over the runs of one output: what each kernel set computes. None where only one was asked."""
        pairs = [pair for wanted in runs for pair in combinations(wanted, 2)]
        if not pairs:
            return None
        return Apart(max(distance(*pair) for pair in pairs), max(mean_distance(*pair) for pair in pairs))


def judged(
    wanted: Sequence[Array], got: Array, limits: Limits, step: float | None = None, apart: Apart | None = None
) -> Judged:
    """Hold an output against what each kernel set computes.

    `step`: from one quantized number to the next; `apart`: how far the kernel sets are from each other.
    """
    gaps = [distance(want, got) for want in wanted]
    at = int(np.argmin(gaps))
    largest, want = gaps[at], wanted[at]
    span, most = extent(want)
    near = (
        _is_near(want, got, limits)
        if limits.atol is not None or limits.rtol is not None
        else largest <= TOLERANCE * (span or max(1.0, most))
    )
    quantum = _is_next(want, got) if step is None else largest <= step * (1 + _ROUNDING)
    between = (
        apart is not None
        and np.isfinite(apart.largest)
        and largest <= apart.largest
        and mean_distance(want, got) <= apart.mean  # one element of theirs excuses no shift of all of ours
    )
    return Judged(largest, largest / span if span else None, bool(near or quantum or between))


def _is_near(want: Array, got: Array, limits: Limits) -> bool:
    if want.shape != got.shape:
        return False
    a, b = want.astype(np.float64), got.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return bool(np.isclose(b, a, rtol=limits.rtol or 0.0, atol=limits.atol or 0.0, equal_nan=True).all())


def _is_next(want: Array, got: Array) -> bool:
    """Whether each number of float16 is the other one, or the next to it: that much any rounding may differ."""
    if want.dtype != np.float16 or want.shape != got.shape:
        return False
    a, b = want.astype(np.float64), got.astype(np.float64)
    with np.errstate(invalid="ignore"):
        gaps, steps = (
            np.abs(a - b),
            np.spacing(np.maximum(np.abs(want), np.abs(got.astype(np.float16)))).astype(np.float64),
        )
        return bool(((gaps <= steps) | (a == b) | (np.isnan(a) & np.isnan(b))).all())


def distance(want: Array, got: Array) -> float:
    """The largest absolute difference; infinite where a shape, a NaN or an infinity has no counterpart."""
    if want.shape != got.shape:
        return float("inf")
    a, b = want.astype(np.float64), got.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if bool(same.all()):
        return 0.0
    with np.errstate(invalid="ignore"):
        gap = np.abs(a - b)[~same]
    return float("inf") if bool(np.isnan(gap).any()) else float(gap.max())


def mean_distance(want: Array, got: Array) -> float:
    """The root of the mean of the squared differences; infinite where `distance` is."""
    if want.shape != got.shape or not np.isfinite(distance(want, got)):
        return float("inf")
    a, b = want.astype(np.float64), got.astype(np.float64)
    with np.errstate(invalid="ignore"):
        gaps = np.where((a == b) | np.isnan(a), 0.0, a - b)
    return float(np.sqrt(np.mean(gaps**2))) if gaps.size else 0.0


def extent(values: Array) -> tuple[float, float]:
    """The range of an array's finite values, and the largest of their magnitudes; zeros where it has none."""
    finite = values.astype(np.float64)[np.isfinite(values.astype(np.float64))]
    return (float(np.ptp(finite)), float(np.abs(finite).max())) if finite.size else (0.0, 0.0)

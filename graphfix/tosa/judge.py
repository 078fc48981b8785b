"""Compare an output of a converted model with the runtime's output: the difference must be small enough.

A runtime has several kernel sets, whose outputs differ slightly. TOSA's output is near enough if one of these
conditions is true for the output of one kernel set:

- the difference is within the tolerance
- the difference is within one step of the output's quantization (for float16: the next number)
- the difference is not larger than that of the kernel sets from each other
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from graphfix.results.records import dataclass

Array = np.ndarray[Any, Any]

TOLERANCE = 1e-3
"""The largest accepted difference of an output, as a fraction of the range of the original's values."""

_ROUNDING = 1e-5
"""The difference of two dequantized numbers may deviate from the scale by this fraction, because both are rounded."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that the user set for differences."""

    atol: float | None = None
    rtol: float | None = None
    """With `atol` or `rtol`, |a - b| <= atol + rtol * |a| must be true for every element.

    Without both, the limit is `TOLERANCE` of the range.
    """


@dataclass(frozen=True, slots=True)
class Judged:
    """The comparison of one output in one run."""

    largest: float
    """The largest difference of an element from the output of the nearest kernel set."""
    relative: float | None
    """`largest` as a fraction of the range of the values; None if all values are equal."""
    within: bool


@dataclass(frozen=True, slots=True)
class Apart:
    """The difference of kernel sets from each other: at the worst element, and as a mean over all elements."""

    largest: float
    mean: float
    """The root of the mean of the squared differences."""

    @staticmethod
    def of(runs: Sequence[Sequence[Array]]) -> Apart | None:
        """Return the largest differences over the runs of one output; None if there is only one kernel set.

        `runs` contains, for each run, the output of each kernel set.
        """
        pairs = [pair for wanted in runs for pair in combinations(wanted, 2)]
        if not pairs:
            return None
        return Apart(max(distance(*pair) for pair in pairs), max(mean_distance(*pair) for pair in pairs))


def judged(
    wanted: Sequence[Array], got: Array, limits: Limits, step: float | None = None, apart: Apart | None = None
) -> Judged:
    """Compare an output of the converted model (`got`) with the output of each kernel set (`wanted`).

    `step` is the difference of two neighbouring quantized numbers; None if the output is not quantized. `apart` is the
    difference of the kernel sets from each other, or None.
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
        # One element at which the kernel sets differ must not excuse a shift of all elements in TOSA.
        and mean_distance(want, got) <= apart.mean
    )
    return Judged(largest, largest / span if span else None, bool(near or quantum or between))


def _is_near(want: Array, got: Array, limits: Limits) -> bool:
    """Return whether all elements are within `atol` and `rtol`."""
    if want.shape != got.shape:
        return False
    a, b = want.astype(np.float64), got.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return bool(np.isclose(b, a, rtol=limits.rtol or 0.0, atol=limits.atol or 0.0, equal_nan=True).all())


def _is_next(want: Array, got: Array) -> bool:
    """Return whether each number of float16 is the other number or next to it.

    Any rounding may cause that difference.
    """
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
    """Return the largest absolute difference; infinite if shapes, or places of NaN or infinities, differ."""
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
    """Return the root of the mean of the squared differences; infinite if `distance` is infinite."""
    if want.shape != got.shape or not np.isfinite(distance(want, got)):
        return float("inf")
    a, b = want.astype(np.float64), got.astype(np.float64)
    with np.errstate(invalid="ignore"):
        gaps = np.where((a == b) | np.isnan(a), 0.0, a - b)
    return float(np.sqrt(np.mean(gaps**2))) if gaps.size else 0.0


def extent(values: Array) -> tuple[float, float]:
    """Return the range of an array's finite values and their largest magnitude; zeros without finite values."""
    finite = values.astype(np.float64)[np.isfinite(values.astype(np.float64))]
    return (float(np.ptp(finite)), float(np.abs(finite).max())) if finite.size else (0.0, 0.0)

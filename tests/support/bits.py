"""Elements of every kind, and whether two arrays are the same bit for bit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def random_bits(dtype: str, count: int, seed: int = 0) -> NDArray[np.generic]:
    """Random bit patterns: NaN, infinities and subnormals among them, and both zeros first."""
    kind = np.dtype(dtype)
    values = np.frombuffer(np.random.default_rng(seed).bytes(kind.itemsize * count), kind).copy()
    if kind.kind == "f":
        values[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, -1.0]
    return values


def same_bits(one: NDArray[np.generic], other: NDArray[np.generic]) -> bool:
    """Whether every element is the same; NaN is NaN, a negative zero is not a positive one."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.kind != "f":
        return bool((one == other).all())
    whole = f"u{one.dtype.itemsize}"
    both = np.isnan(one) & np.isnan(other)
    return bool((both | (one.view(whole) == other.view(whole))).all())

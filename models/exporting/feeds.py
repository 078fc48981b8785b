"""What an exported model is fed: kinds, shapes with free sizes, and the numbers of a set of sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Sizes = dict[str, int]
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Feed:
    """An input: its kind, its shape (a name is a free size) and, for ids, the first number that is too high."""

    kind: str
    shape: tuple[int | str, ...]
    high: int = 0

    @property
    def free(self) -> dict[int, str]:
        """The axes whose sizes are free."""
        return {axis: dim for axis, dim in enumerate(self.shape) if isinstance(dim, str)}

    def extents(self, sizes: Sizes) -> tuple[int, ...]:
        """Return the shape with these sizes."""
        return tuple(sizes[dim] if isinstance(dim, str) else dim for dim in self.shape)

    def numbers(self, sizes: Sizes) -> Array:
        """Return numbers of the kind; the same ones each time."""
        shape = self.extents(sizes)
        index = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
        return _KINDS[self.kind](index, self.high, sizes)


def _mask(index: Array, _high: int, _sizes: Sizes) -> Array:
    """All ones, but for the last position of the last row."""
    ones = np.ones_like(index)
    if index.shape[-1] > 1:
        ones[-1, ..., -1] = 0
    return ones


def _positions(index: Array, _high: int, sizes: Sizes) -> Array:
    """The positions that come after the past ones."""
    return np.broadcast_to(np.arange(index.shape[-1]) + sizes.get("past", 0), index.shape).copy()


_KINDS = {
    "numbers": lambda index, _high, _sizes: (((index * 7) % 17 - 8) / 8).astype(np.float32),
    "bytes": lambda index, _high, _sizes: ((index * 37) % 256).astype(np.uint8),
    "ids": lambda index, high, _sizes: (index * 5 + 3) % high,
    "bools": lambda index, _high, _sizes: index % 3 != 1,
    "mask": _mask,
    "positions": _positions,
}


def numbers(*shape: int | str) -> Feed:
    """Return an input of float32 in [-1, 1]."""
    return Feed("numbers", shape)


def bytes_of(*shape: int | str) -> Feed:
    """Return an input of uint8, as images are stored."""
    return Feed("bytes", shape)


def ids(high: int, *shape: int | str) -> Feed:
    """Return an input of int64 in [0, high)."""
    return Feed("ids", shape, high)


def bools(*shape: int | str) -> Feed:
    """Return an input of truth values, most of them true."""
    return Feed("bools", shape)


def mask(*shape: int | str) -> Feed:
    """Return an input of int64: one where a token is, zero where there is padding."""
    return Feed("mask", shape)


def positions(*shape: int | str) -> Feed:
    """Return an input of int64: positions, counted from the end of the past."""
    return Feed("positions", shape)

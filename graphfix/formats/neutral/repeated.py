"""Axes of a constant along which nothing changes, found in its bytes: row-major elements of `item` bytes each."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod


def least_sizes(data: bytes | memoryview, sizes: Sequence[int], item: int) -> tuple[int, ...]:
    """The sizes, with 1 for each axis along which nothing changes: [[1, 1], [2, 2]] has [2,2] and least [2,1]."""
    least = list(sizes)
    if 0 in least:
        return tuple(least)
    for axis, size in enumerate(sizes):
        if size == 1:
            continue
        row = prod(least[axis + 1 :]) * item
        block = row * size
        if all(
            data[at : at + row] == data[at + row : at + 2 * row]  # most axes end here, before a block is copied
            and data[at : at + block - row] == data[at + row : at + block]
            for at in range(0, len(data), block)
        ):
            data = _first_rows(data, row, block)
            least[axis] = 1
    return tuple(least)


def cut(data: bytes, sizes: Sequence[int], to: Sequence[int], item: int) -> bytes:
    """The elements at 0 of the axes that have several elements in `sizes` and one in `to`; both have one rank."""
    kept = list(sizes)
    for axis, (size, least) in enumerate(zip(sizes, to, strict=True)):
        if size != least:
            row = prod(kept[axis + 1 :]) * item
            data = _first_rows(data, row, row * size)
            kept[axis] = 1
    return data


def _first_rows(data: bytes | memoryview, row: int, block: int) -> bytes:
    return b"".join([data[at : at + row] for at in range(0, len(data), block)])

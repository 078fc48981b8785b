"""Find axes of a constant along which all elements are equal, from its bytes.

The elements are in row-major order, with `item` bytes each.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod


def least_sizes(data: bytes | memoryview, sizes: Sequence[int], item: int) -> tuple[int, ...]:
    """Return `sizes` with 1 for each axis along which the elements do not change: [[1, 1], [2, 2]] -> [2,1].

    Elements are equal if their bytes are equal. Sizes that contain a 0 are returned unchanged.
    """
    least = list(sizes)
    if 0 in least:
        return tuple(least)
    for axis, size in enumerate(sizes):
        if size == 1:
            continue
        row = prod(least[axis + 1 :]) * item
        block = row * size
        if all(
            # Most axes fail this comparison, so a whole block is seldom copied.
            data[at : at + row] == data[at + row : at + 2 * row]
            and data[at : at + block - row] == data[at + row : at + block]
            for at in range(0, len(data), block)
        ):
            data = _first_rows(data, row, block)
            least[axis] = 1
    return tuple(least)


def cut(data: bytes, sizes: Sequence[int], to: Sequence[int], item: int) -> bytes:
    """Return the bytes of a constant that is cut from shape `sizes` to shape `to`, which has the same rank.

    Each axis whose sizes differ is cut to its first element, so `to` must be 1 there.
    """
    kept = list(sizes)
    for axis, (size, least) in enumerate(zip(sizes, to, strict=True)):
        if size != least:
            row = prod(kept[axis + 1 :]) * item
            data = _first_rows(data, row, row * size)
            kept[axis] = 1
    return data


def _first_rows(data: bytes | memoryview, row: int, block: int) -> bytes:
    return b"".join([data[at : at + row] for at in range(0, len(data), block)])

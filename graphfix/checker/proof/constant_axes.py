"""Constants that do not change along an axis: found, and cut down to one index of it, in pieces."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from graphfix.checker.files.constant_bytes import PIECE, SMALL, held

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.checker.files.constant_bytes import Payload

MOST_HELD = 1 << 24
"""Bytes of what is cut out of a constant; beyond them it is compared as it is."""


def cut(payload: Payload, dims: Sequence[int], axis: int, width: int) -> Payload | None:
    """Give index 0 of an axis along which nothing changes; None where something does, or too much would be held.

    `dims` are those of the payload, which holds `width` bytes an element and is not empty; the axis has several.
    """
    row = prod(dims[axis + 1 :]) * width
    block = row * dims[axis]
    if payload.length > block and payload.length // dims[axis] > MOST_HELD:
        return None
    look = min(row, SMALL)
    if payload.read(0, look) != payload.read(row, look):
        return None
    if not (_even_each if block > PIECE else _even_many)(payload, row, block):
        return None
    return _first(payload, row, block)


def _even_each(payload: Payload, row: int, block: int) -> bool:
    """Whether in every block the rows are the same: the block then is what it is one row further on."""
    return all(
        payload.part(start, block - row).same(payload.part(start + row, block - row))
        for start in range(0, payload.length, block)
    )


def _even_many(payload: Payload, row: int, block: int) -> bool:
    """The same for blocks many of which make a piece."""
    count = block // row
    for piece in payload.pieces(PIECE // block * block):
        if any(piece[at : at + block] != piece[at : at + row] * count for at in range(0, len(piece), block)):
            return False
    return True


def _first(payload: Payload, row: int, block: int) -> Payload:
    """Read the first row of every block."""
    if payload.length == block:
        return payload.part(0, row)
    if block > PIECE:
        return held(b"".join(payload.read(start, row) for start in range(0, payload.length, block)))
    pieces = payload.pieces(PIECE // block * block)
    return held(b"".join(piece[at : at + row] for piece in pieces for at in range(0, len(piece), block)))

"""Constants as terms: what they hold, in the least form that gives every element, read in pieces from the files."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from graphfix.verify.proof.terms import MOST_ELEMENTS, View, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

    from graphfix.verify.proof.terms import Core, Table

PIECE = 1 << 18
"""Bytes that are read at a time."""
SMALL = 1 << 12
"""Payloads up to this size are compared as a whole; of bigger ones the two ends are looked at first."""


class Payload(NamedTuple):
    """The elements of a constant: bytes in memory, or a range of a file."""

    file: BinaryIO | None
    offset: int
    length: int
    data: bytes = b""

    def read(self, start: int, count: int) -> bytes:
        """Give bytes of the range; fewer where it ends."""
        count = min(count, self.length - start)
        if self.file is None:
            return self.data[start : start + count]
        self.file.seek(self.offset + start)
        return self.file.read(count)

    def pieces(self, step: int = PIECE) -> Iterator[bytes]:
        """Give all bytes in order."""
        for start in range(0, self.length, step):
            yield self.read(start, step)

    def same(self, other: Payload) -> bool:
        """Whether both hold the same bytes."""
        if self.length != other.length:
            return False
        return all(one == two for one, two in zip(self.pieces(), other.pieces(), strict=True))

    @property
    def print(self) -> bytes:
        """A short form that equal payloads share: it finds candidates, and proves nothing."""
        ends = self.read(0, SMALL) + self.read(max(self.length - SMALL, 0), SMALL)
        return hashlib.blake2b(ends, digest_size=16).digest()


@dataclass(slots=True, eq=False)
class Constants:
    """All constants of both files, each content once."""

    table: Table
    stored: dict[tuple[object, ...], list[tuple[Payload, Core]]] = field(default_factory=dict)

    def view(
        self, dtype: str, dims: Sequence[int], payload: Payload, width: int, told: str, fixed: int | None = None
    ) -> View:
        """See a constant of these dims; `width` is the bytes of an element, 0 where elements are no whole bytes.

        Axes of size 1, and axes along which nothing changes, are axes of the map and not of the core: so a constant
        with other unit axes, or one that was written out stretched, is another view of the same core. The axis `fixed`
        is not left out although nothing changes along it: scales may.
        """
        dims = tuple(dims)
        if width and prod(dims) * width != payload.length:
            return self.odd((dtype, "of another length"), dims, payload, told)
        if not width:  # strings, and types of less than a byte: only unit axes are told
            return self._squeezed((dtype, "as stored"), dims, payload, told)
        kept = [
            axis
            for axis, size in enumerate(dims)
            if size != 1 and (axis == fixed or not _repeats(payload, dims, axis, width))
        ]
        least = _least(payload, dims, kept, width) if len(kept) < sum(size != 1 for size in dims) else payload
        inner = tuple(dims[axis] for axis in kept)
        view = self._inner(dtype, inner, least, width, told)
        places = {axis: place for place, axis in enumerate(kept)}
        return View(view.core, tuple(places.get(axis) for axis in range(len(dims))), dims)

    def odd(self, kind: tuple[object, ...], dims: tuple[int, ...], payload: Payload, told: str) -> View:
        """See a constant whose bytes are not plainly its elements, such as a sparse one: just as it is stored."""
        return whole(self._core((kind, dims), dims, payload, told))

    def _squeezed(self, kind: tuple[object, ...], dims: tuple[int, ...], payload: Payload, told: str) -> View:
        kept = tuple(size for size in dims if size != 1)
        core = self._core((kind, kept), kept, payload, told)
        places = iter(range(len(kept)))
        return View(core, tuple(None if size == 1 else next(places) for size in dims), dims)

    def _inner(self, dtype: str, dims: tuple[int, ...], payload: Payload, width: int, told: str) -> View:
        if dtype in ("int64", "int32") and len(dims) <= 1 and payload.length <= MOST_ELEMENTS * width:
            numbers = np.frombuffer(payload.read(0, payload.length), np.dtype(dtype).newbyteorder("<"))
            return self.table.numbers(tuple(map(int, numbers)), dtype, scalar=not dims)
        return whole(self._core((dtype, dims), dims, payload, told))

    def _core(self, kind: tuple[object, ...], dims: tuple[int, ...], payload: Payload, told: str) -> Core:
        small = payload.length <= SMALL
        held = payload.read(0, SMALL) if small else (payload.length, payload.print)
        known = self.stored.setdefault(("constant", *kind, held), [])
        for other, core in known:
            if small or payload.same(other):
                return core
        core, _ = self.table.core(("constant", *kind, held, len(known)), told, counted=False)
        core.sizes, core.payload = dims, payload
        core.dtype = kind[0] if isinstance(kind[0], str) else None
        known.append((payload, core))
        return core


def _repeats(payload: Payload, dims: tuple[int, ...], axis: int, width: int) -> bool:
    """Whether the elements do not change along an axis: a look at the first block, then at all of them."""
    row = prod(dims[axis + 1 :]) * width
    block = row * dims[axis]
    if not payload.length or payload.length != prod(dims[:axis]) * block:
        return False
    look = min(row, SMALL)
    if payload.read(0, look) != payload.read(row, look):
        return False
    return all(_even(payload, start, row, dims[axis]) for start in range(0, payload.length, block))


def _even(payload: Payload, start: int, row: int, count: int) -> bool:
    """Whether `count` rows from `start` on are the same bytes."""
    if row * count <= PIECE:
        block = payload.read(start, row * count)
        return block == block[:row] * count
    steps = range(start, start + row, PIECE)
    return all(
        payload.read(at, min(PIECE, start + row - at)) == payload.read(at + row * turn, min(PIECE, start + row - at))
        for at in steps
        for turn in range(1, count)
    )


def _least(payload: Payload, dims: tuple[int, ...], kept: list[int], width: int) -> Payload:
    """Read the elements at index 0 of every axis that is not kept: what is left is small, as the rest repeats it."""
    cut = tuple(slice(None) if axis in kept else slice(0, 1) for axis in range(len(dims)))
    elements = np.frombuffer(payload.read(0, payload.length), np.dtype((np.void, width))).reshape(dims)
    data = np.ascontiguousarray(elements[cut]).tobytes()
    return Payload(None, 0, len(data), data)

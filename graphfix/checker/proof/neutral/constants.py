"""Constants as terms: each is reduced to the smallest array that has all its elements, read in pieces from the file."""

from __future__ import annotations

from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from graphfix.checker.files.constant_bytes import PIECE, SMALL, stored_bytes
from graphfix.checker.proof.core.terms import MOST_ELEMENTS, ProofValue, value_of
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.files.constant_bytes import Payload
    from graphfix.checker.proof.core.terms import Core, TermTable

MOST_HELD = 1 << 24
"""The most bytes that are copied from a constant to shrink it. A larger constant is compared as it is."""
KNOWN: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {"int64": np.dtype("<i8"), "int32": np.dtype("<i4"), "bool": np.dtype("u1")}
)
"""Element types of which short vectors are known as terms, with the type in which a file stores them."""


@dataclass(slots=True, eq=False)
class Constants:
    """All constants of both files. Constants of equal content share one core."""

    table: TermTable
    stored: dict[tuple[object, ...], list[tuple[Payload, Core]]] = field(default_factory=dict)

    def view(
        self, dtype: str, dims: Sequence[int], payload: Payload, width: int, description: str, fixed: int | None = None
    ) -> ProofValue:
        """Return a constant of shape `dims` as a value of the proof.

        Axes of size 1, and axes along which all elements are equal, belong to the map and not to the core. So a
        constant with other unit axes, or one that is stored stretched, is another value of the same core. `width` is
        the bytes of an element, or 0 if an element does not fill whole bytes. The axis `fixed` is kept even if nothing
        changes along it, because quantization scales may change along it. If payload and dims do not agree, the
        constant is compared as stored.
        """
        dims = tuple(dims)
        if 0 in dims and not payload.length:
            return self.table.empty(dtype, dims)
        if width and prod(dims) * width != payload.length:
            return self.as_stored((dtype, "of another length"), dims, payload, description)
        if not width:  # strings, and types of less than a byte: only unit axes are dropped
            return self._squeezed((dtype, "as stored"), dims, payload, description)
        if payload.length <= SMALL:
            payload = stored_bytes(payload.read(0, payload.length))
        inner = list(dims)
        for axis, size in enumerate(dims):
            least = first_index(payload, inner, axis, width) if size > 1 and axis != fixed and payload.length else None
            if least is not None:
                payload, inner[axis] = least, 1
        kept = [axis for axis, size in enumerate(inner) if size != 1]
        view = self._inner(dtype, tuple(inner[axis] for axis in kept), payload, width, description)
        places = {axis: place for place, axis in enumerate(kept)}
        return ProofValue(view.core, tuple(places.get(axis) for axis in range(len(dims))), dims)

    def as_stored(
        self, kind: tuple[object, ...], dims: tuple[int, ...], payload: Payload, description: str
    ) -> ProofValue:
        """Return a constant whose bytes are not simply its elements, such as a sparse one.

        It is compared as it is stored.
        """
        return value_of(self._core((kind, dims), dims, payload, description))

    def _squeezed(
        self, kind: tuple[object, ...], dims: tuple[int, ...], payload: Payload, description: str
    ) -> ProofValue:
        """Return a constant whose core has no unit axes; its elements are compared as they are stored."""
        kept = tuple(size for size in dims if size != 1)
        core = self._core((kind, kept), kept, payload, description)
        places = iter(range(len(kept)))
        return ProofValue(core, tuple(None if size == 1 else next(places) for size in dims), dims)

    def _inner(self, dtype: str, dims: tuple[int, ...], payload: Payload, width: int, description: str) -> ProofValue:
        """Return a constant without unit axes.

        A short vector or scalar of int64, int32 or bool is read as known integers.
        """
        stored = KNOWN.get(dtype)
        if stored is not None and len(dims) <= 1 and payload.length <= MOST_ELEMENTS * width:
            numbers = tuple(map(int, np.frombuffer(payload.read(0, payload.length), stored)))
            # a kernel treats any other byte as true, although it is not the element 1
            if dtype != "bool" or max(numbers, default=0) <= 1:
                return self.table.integers(numbers, dtype, scalar=not dims)
        return value_of(self._core((dtype, dims), dims, payload, description))

    def _core(self, kind: tuple[object, ...], dims: tuple[int, ...], payload: Payload, description: str) -> Core:
        """Return the core of a constant, which is shared with earlier constants of the same type, shape and content."""
        small = payload.length <= SMALL
        content = payload.read(0, SMALL) if small else (payload.length, payload.fingerprint)
        equal_constants = self.stored.setdefault(("constant", *kind, content), [])
        for other, core in equal_constants:
            if small or payload.same(other):
                return core
        core, _ = self.table.find_or_create_core(
            ("constant", *kind, content, len(equal_constants)), description, counted=False
        )
        core.sizes, core.payload = dims, payload
        equal_constants.append((payload, core))
        return core


# --- axes along which nothing changes -------------------------------------------------------------------------------


def first_index(payload: Payload, dims: Sequence[int], axis: int, width: int) -> Payload | None:
    """Return the elements at index 0 of an axis along which nothing changes.

    Return None if elements differ along the axis, or if more than MOST_HELD bytes would have to be stored. `dims` is
    the payload's shape. The payload has `width` bytes an element and is not empty; the axis has more than one index.
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
    """Return whether the rows of every block are equal: the block then equals itself, shifted by one row.

    `row` and `block` are numbers of bytes. This variant is for blocks larger than a piece.
    """
    return all(
        payload.part(start, block - row).same(payload.part(start + row, block - row))
        for start in range(0, payload.length, block)
    )


def _even_many(payload: Payload, row: int, block: int) -> bool:
    """Return whether the rows of every block are equal, for blocks so small that a piece contains many of them.

    `row` and `block` are numbers of bytes.
    """
    count = block // row
    for piece in payload.pieces(PIECE // block * block):
        if any(piece[at : at + block] != piece[at : at + row] * count for at in range(0, len(piece), block)):
            return False
    return True


def _first(payload: Payload, row: int, block: int) -> Payload:
    """Return the first row of every block, where `row` and `block` are numbers of bytes."""
    if payload.length == block:
        return payload.part(0, row)
    if block > PIECE:
        return stored_bytes(b"".join(payload.read(start, row) for start in range(0, payload.length, block)))
    pieces = payload.pieces(PIECE // block * block)
    return stored_bytes(b"".join(piece[at : at + row] for piece in pieces for at in range(0, len(piece), block)))

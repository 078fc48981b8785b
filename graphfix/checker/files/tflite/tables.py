"""FlatBuffers tables, read in place: the fields of a table by their slots, at the offsets in its vtable."""

from __future__ import annotations

from struct import Struct, unpack_from
from typing import TYPE_CHECKING, NamedTuple

from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    import mmap
    from collections.abc import Sequence

    from graphfix.checker.files.tflite.records import Options

_OFFSET = Struct("<I")
_SIGNED = Struct("<i")
_SHORT = Struct("<H")
_WORD = 3
"""The bits of a position that are 0 where a table, a vector or a reference begins."""
_LEAST = 4
"""Bytes of the smallest table."""
_MOST_FIELDS = 32
"""More than any table of the schema has: a slot that a vtable does not reach is a field that is not given."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The bytes of a file, and the vtables that were met: most tables of a model share a few.

    What lies outside the file, or where nothing can begin, raises struct.error or ValueError: LiteRT has FlatBuffers'
    verifier walk the whole file first.
    """

    data: mmap.mmap
    lenient: bool = False
    """Whether fields that the schema does not know are passed over."""
    vtables: dict[int, tuple[int, ...]] = field(default_factory=dict)
    read: set[tuple[int, int]] = field(default_factory=set)
    """Vtables, by identity, that have no field beyond so many."""
    plain: dict[object, Options] = field(default_factory=dict)
    """The options that hold numbers alone, by kind and inline bytes: most operators of a kind are alike."""

    def at(self, place: int) -> Table:
        """See the table that begins here."""
        vtable = place - _SIGNED.unpack_from(self.data, place)[0]
        vtable_slots = self.vtables.get(vtable)
        if place & _WORD:
            raise ValueError(f"a table at byte {place}, where none can begin")
        return Table(self, self.data, place, self._vtable(vtable) if vtable_slots is None else vtable_slots)

    def _vtable(self, place: int) -> tuple[int, ...]:
        if place < 0 or place & 1:
            raise ValueError("a table says that it is described where nothing can begin")
        size, inline = _SHORT.unpack_from(self.data, place)[0], _SHORT.unpack_from(self.data, place + 2)[0]
        count = max(size - 4, 0) // 2
        declared = unpack_from(f"<{count}H", self.data, place + 4)
        if size & 1 or size < _LEAST or max(declared, default=0) >= max(inline, _LEAST):
            raise ValueError(f"the table at byte {place} that describes others does not fit them")
        self.vtables[place] = declared + (0,) * (_MOST_FIELDS - count)
        return self.vtables[place]

    def root(self) -> Table:
        """See the file's outermost table."""
        return self.at(_OFFSET.unpack_from(self.data, 0)[0])


class Table(NamedTuple):
    """One table: a field is named by its slot, the place in which the schema declares it."""

    tables: Tables
    data: mmap.mmap
    place: int
    offsets: tuple[int, ...]
    """Where each field begins, from the table on; 0 for one that is not given."""

    @property
    def inline(self) -> tuple[object, ...]:
        """Return all that the table itself holds: numbers, and where what is stored elsewhere is from here."""
        vtable = self.place - _SIGNED.unpack_from(self.data, self.place)[0]
        size = _SHORT.unpack_from(self.data, vtable + 2)[0]
        return self.offsets, self.data[self.place + 4 : self.place + size]

    def number(self, slot: int, form: Struct = _SIGNED, default: int = 0) -> int:
        """Return a number of this form."""
        offset = self.offsets[slot]
        if not offset:
            return default
        at = self.place + offset
        if at & form.size - 1:
            raise ValueError(f"a number at byte {at}, where none can begin")
        found: tuple[int, ...] = form.unpack_from(self.data, at)
        return found[0]

    def inner(self, slot: int) -> int:
        """Return the byte at which a table, vector or string begins that is stored elsewhere; 0 for none."""
        offset = self.offsets[slot]
        if not offset:
            return 0
        at = self.place + offset
        further: tuple[int, ...] = _OFFSET.unpack_from(self.data, at)
        if (at | further[0]) & _WORD or not further[0]:
            raise ValueError(f"a reference at byte {at} points where nothing can begin")
        return at + further[0]

    def table(self, slot: int) -> Table | None:
        """Return a table."""
        at = self.inner(slot)
        return self.tables.at(at) if at else None

    def vector(self, slot: int) -> tuple[int, int]:
        """Return the first byte behind a vector's length, and how many elements it has."""
        at = self.inner(slot)
        return (at + 4, _OFFSET.unpack_from(self.data, at)[0]) if at else (0, 0)

    def numbers(self, slot: int, form: str = "i") -> tuple[int, ...]:
        """Return a vector of numbers of this form."""
        offset = self.offsets[slot]
        if not offset:
            return ()
        at = self.place + offset
        at += _OFFSET.unpack_from(self.data, at)[0]
        if (at | self.place + offset) & _WORD or at == self.place + offset:
            raise ValueError(f"a vector at byte {at}, where none can begin")
        return unpack_from(f"<{_OFFSET.unpack_from(self.data, at)[0]}{form}", self.data, at + 4)

    def content(self, slot: int) -> bytes:
        """Return a string or a vector of bytes. Raises ValueError where it is cut short."""
        start, count = self.vector(slot)
        found = self.data[start : start + count]
        if len(found) < count:
            raise ValueError(f"{count} bytes at byte {start} are cut short")
        return found

    def is_plain(self, slot: int, width: int = 1) -> bool:
        """Whether a vector that nobody reads, of elements of so many bytes, ends in the file; also where it is none."""
        start, count = self.vector(slot)
        return start + count * width <= len(self.data)

    def string(self, slot: int) -> bytes | None:
        """Return a string; None where it does not end as strings do, with a byte that is 0."""
        start, count = self.vector(slot)
        found = self.data[start : start + count + 1] if start else b"\0"
        return found[:-1] if len(found) > count and not found[-1] else None

    def ended(self, slot: int) -> bool:
        """Whether a string that nobody reads ends as strings do; also where it is none."""
        return self.string(slot) is not None

    def each(self, slot: int) -> Sequence[Table]:
        """Return a vector of tables."""
        start, _ = self.vector(slot)
        return [self.tables.at(start + 4 * index + offset) for index, offset in enumerate(self.numbers(slot, "I"))]

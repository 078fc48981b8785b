"""Read FlatBuffers tables in place. A field is found by its slot, through the offsets in the table's vtable."""

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
"""A mask of the bits that are 0 in each position at which a table, a vector or a reference begins."""
_LEAST = 4
"""Bytes of the smallest table."""
_MOST_FIELDS = 32
"""More fields than any table of the schema has. Vtables are filled with 0, "missing", up to this number of slots."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The bytes of a file, and its vtables that were read already. Most tables of a model share a few vtables.

    A position outside the file, or one at which no table can begin, raises struct.error or ValueError. So the whole
    file is checked while it is read, as LiteRT does with FlatBuffers' verifier.
    """

    data: mmap.mmap
    lenient: bool = False
    """Whether fields that the schema does not define are ignored."""
    vtables: dict[int, tuple[int, ...]] = field(default_factory=dict)
    read: set[tuple[int, int]] = field(default_factory=set)
    """Pairs (identity of a vtable's offsets, n): the vtable has no field beyond the first n fields."""
    plain: dict[object, Options] = field(default_factory=dict)
    """Options that contain only numbers, by kind and bytes. Most operators of a kind have equal options."""

    def at(self, place: int) -> Table:
        """Return the table that begins at byte `place`.

        Raises struct.error or ValueError if no table can begin at this byte.
        """
        vtable = place - _SIGNED.unpack_from(self.data, place)[0]
        vtable_slots = self.vtables.get(vtable)
        if place & _WORD:
            raise ValueError(f"a table at byte {place}, where none can begin")
        return Table(self, self.data, place, self._vtable(vtable) if vtable_slots is None else vtable_slots)

    def _vtable(self, place: int) -> tuple[int, ...]:
        """Read the vtable at a byte: for each slot, the offset of the field in its table, or 0. Raises ValueError."""
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
        """Return the outermost table of the file."""
        return self.at(_OFFSET.unpack_from(self.data, 0)[0])


class Table(NamedTuple):
    """A table of a FlatBuffer. A field is identified by its slot: the position in which the schema declares it."""

    tables: Tables
    data: mmap.mmap
    place: int
    offsets: tuple[int, ...]
    """For each slot, the offset of the field from the start of the table; 0 for a missing field."""

    @property
    def inline(self) -> tuple[object, ...]:
        """Return the vtable's offsets and the table's own bytes.

        Numbers are in these bytes; other fields are references.
        """
        vtable = self.place - _SIGNED.unpack_from(self.data, self.place)[0]
        size = _SHORT.unpack_from(self.data, vtable + 2)[0]
        return self.offsets, self.data[self.place + 4 : self.place + size]

    def number(self, slot: int, form: Struct = _SIGNED, default: int = 0) -> int:
        """Return the number in a slot, in the binary form `form`; `default` if it is missing.

        Raises ValueError if misaligned.
        """
        offset = self.offsets[slot]
        if not offset:
            return default
        at = self.place + offset
        if at & form.size - 1:
            raise ValueError(f"a number at byte {at}, where none can begin")
        found: tuple[int, ...] = form.unpack_from(self.data, at)
        return found[0]

    def inner(self, slot: int) -> int:
        """Return the byte at which the table, vector or string of a slot begins; 0 if it is missing.

        Raises ValueError if the slot refers to a byte at which nothing can begin.
        """
        offset = self.offsets[slot]
        if not offset:
            return 0
        at = self.place + offset
        further: tuple[int, ...] = _OFFSET.unpack_from(self.data, at)
        if (at | further[0]) & _WORD or not further[0]:
            raise ValueError(f"a reference at byte {at} points where nothing can begin")
        return at + further[0]

    def table(self, slot: int) -> Table | None:
        """Return the table of a slot; None if it is missing."""
        at = self.inner(slot)
        return self.tables.at(at) if at else None

    def vector(self, slot: int) -> tuple[int, int]:
        """Return (first byte, number of elements) of the vector of a slot; (0, 0) if it is missing."""
        at = self.inner(slot)
        return (at + 4, _OFFSET.unpack_from(self.data, at)[0]) if at else (0, 0)

    def numbers(self, slot: int, form: str = "i") -> tuple[int, ...]:
        """Return the vector of numbers of a slot; () if it is missing.

        `form` is the `struct` character of one number.
        """
        offset = self.offsets[slot]
        if not offset:
            return ()
        at = self.place + offset
        at += _OFFSET.unpack_from(self.data, at)[0]
        if (at | self.place + offset) & _WORD or at == self.place + offset:
            raise ValueError(f"a vector at byte {at}, where none can begin")
        return unpack_from(f"<{_OFFSET.unpack_from(self.data, at)[0]}{form}", self.data, at + 4)

    def content(self, slot: int) -> bytes:
        """Return the bytes of a string or vector of bytes; b"" if it is missing.

        Raises ValueError if it is cut short.
        """
        start, count = self.vector(slot)
        found = self.data[start : start + count]
        if len(found) < count:
            raise ValueError(f"{count} bytes at byte {start} are cut short")
        return found

    def is_plain(self, slot: int, width: int = 1) -> bool:
        """Return whether a vector ends inside the file, or is missing. `width` is the bytes of one element.

        Used for vectors that are not read but that runtimes check.
        """
        start, count = self.vector(slot)
        return start + count * width <= len(self.data)

    def string(self, slot: int) -> bytes | None:
        """Return the bytes of a slot's string; b"" if it is missing, None if no 0 byte follows it."""
        start, count = self.vector(slot)
        found = self.data[start : start + count + 1] if start else b"\0"
        return found[:-1] if len(found) > count and not found[-1] else None

    def ended(self, slot: int) -> bool:
        """Return whether a 0 byte follows a string, or the string is missing.

        Used for strings that are not read but that runtimes check.
        """
        return self.string(slot) is not None

    def each(self, slot: int) -> Sequence[Table]:
        """Return the tables in the vector of tables of a slot; [] if it is missing."""
        start, _ = self.vector(slot)
        return [self.tables.at(start + 4 * index + offset) for index, offset in enumerate(self.numbers(slot, "I"))]

"""FlatBuffers tables, read in place: the fields of a table by their slots, at the offsets that its vtable tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import mmap
    from collections.abc import Sequence

_OFFSET = Struct("<I")
_SIGNED = Struct("<i")
_SHORT = Struct("<H")


@dataclass(frozen=True, slots=True)
class Tables:
    """The bytes of a file, and the vtables that were met: most tables of a model share a few.

    What lies outside the file raises struct.error or ValueError.
    """

    data: mmap.mmap
    vtables: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def at(self, place: int) -> Table:
        """See the table that begins here."""
        vtable = place - _SIGNED.unpack_from(self.data, place)[0]
        known = self.vtables.get(vtable)
        if known is None:
            if vtable < 0:
                raise ValueError(f"the table at byte {place} says that it is described before the file")
            size = _SHORT.unpack_from(self.data, vtable)[0]
            known = self.vtables[vtable] = Struct(f"<{max(size - 4, 0) // 2}H").unpack_from(self.data, vtable + 4)
        return Table(self, place, known)

    def root(self) -> Table:
        """See the file's outermost table."""
        return self.at(_OFFSET.unpack_from(self.data, 0)[0])


class Table(NamedTuple):
    """One table: a field is named by its slot, the place in which the schema declares it."""

    tables: Tables
    place: int
    offsets: tuple[int, ...]

    def where(self, slot: int) -> int:
        """Give the byte at which a field begins; 0 for one that is not given."""
        offset = self.offsets[slot] if slot < len(self.offsets) else 0
        return offset and self.place + offset

    def number(self, slot: int, form: Struct = _SIGNED, default: int = 0) -> int:
        """Give a number of this form."""
        at = self.where(slot)
        return int(form.unpack_from(self.tables.data, at)[0]) if at else default

    def inner(self, slot: int) -> int:
        """Give the byte at which a table, vector or string begins that is stored elsewhere; 0 for none."""
        at = self.where(slot)
        return at and at + int(_OFFSET.unpack_from(self.tables.data, at)[0])

    def table(self, slot: int) -> Table | None:
        """Give a table."""
        at = self.inner(slot)
        return self.tables.at(at) if at else None

    def vector(self, slot: int) -> tuple[int, int]:
        """Give the first byte behind a vector's length, and how many elements it has."""
        at = self.inner(slot)
        return (at + 4, int(_OFFSET.unpack_from(self.tables.data, at)[0])) if at else (0, 0)

    def numbers(self, slot: int, form: str = "i") -> tuple[int, ...]:
        """Give a vector of numbers of this form."""
        start, count = self.vector(slot)
        return Struct(f"<{count}{form}").unpack_from(self.tables.data, start) if count else ()

    def bytes(self, slot: int) -> bytes:
        """Give a string or a vector of bytes. Raises ValueError where it is cut short."""
        start, count = self.vector(slot)
        found = self.tables.data[start : start + count]
        if len(found) < count:
            raise ValueError(f"{count} bytes at byte {start} are cut short")
        return found

    def each(self, slot: int) -> Sequence[Table]:
        """Give a vector of tables."""
        start, count = self.vector(slot)
        offsets = self.numbers(slot, "I")
        return [self.tables.at(start + 4 * index + offsets[index]) for index in range(count)]

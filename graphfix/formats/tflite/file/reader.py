"""Read tables, vectors and strings of a FlatBuffer by their position in the file; every position is checked.

A table begins with the distance back to its vtable. The vtable contains, for each slot, the distance of the field from
the table's begin, or 0 for a missing field (source: FlatBuffers' internals document).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from graphfix.formats.tflite.file.schema import REFERENCES, Layout

_I32: Final = struct.Struct("<i")
_U32: Final = struct.Struct("<I")
_U16: Final = struct.Struct("<H")
WORD: Final = 4
"""Bytes of a reference, of a length, and of a table's distance to its vtable."""
LIMIT: Final = 1 << 31
"""A distance in a FlatBuffer must be below this number of bytes. Some readers read distances as signed numbers."""
MOST: Final = 1 << 20
"""The maximal length of a vector of numbers that is read: no shape and no list of operands is longer."""


class MalformedError(Exception):
    """A position, length or number in the file is impossible; the message contains it and its byte position."""


class _Decoder(NamedTuple):
    """How to read all tables that share one vtable, with one call of struct."""

    numbers: struct.Struct
    order: tuple[int, ...]
    """For each slot, the index of its value in the sequence of the numbers that are read, followed by all defaults."""
    present: int
    """The count of numbers that are read; an index from there on is a default."""
    references: tuple[tuple[int, int], ...]
    """(slot, distance from the table's begin) of each reference that is present."""
    unknown: bool
    """Whether the table has fields beyond the slots of the layout."""


class FlatBuffer:
    """A FlatBuffer over the bytes of a file."""

    def __init__(self, data: memoryview) -> None:
        """Store the bytes of the whole file; nothing is read yet."""
        self._data = data
        self._size = len(data)
        self._decoders: dict[tuple[int, Layout], _Decoder] = {}
        # The key of a vector of 64-bit numbers is ~position.
        self._integers: dict[int, tuple[int, ...]] = {0: (), ~0: ()}
        self._texts: dict[int, str] = {}
        self._spent = 0

    def root(self) -> int:
        """Return the position of the root table. Raises MalformedError."""
        if self._size < 2 * WORD:
            raise MalformedError(f"it has {self._size} bytes, fewer than a header")
        return self._target(0, _U32.unpack_from(self._data, 0)[0])

    def table(self, position: int, layout: Layout) -> list[Any]:
        """Read all fields of a table, by slot: numbers, and for references the positions that they point at.

        A missing field has its default; a missing reference is 0.
        """
        decoder = self._decoder(position, layout)
        numbers = self._read(position, layout, decoder) + layout.defaults
        values: list[Any] = [numbers[index] for index in decoder.order]
        for slot, distance in decoder.references:
            values[slot] = self._target(position + distance, values[slot])
        return values

    def fields(self, position: int, layout: Layout) -> dict[str, Any]:
        """Read the fields of a table that are present, by name."""
        decoder = self._decoder(position, layout)
        values = self.table(position, layout)
        return {name: values[slot] for slot, name in enumerate(layout.names) if decoder.order[slot] < decoder.present}

    def has_unknown(self, position: int, layout: Layout) -> bool:
        """Return whether the table has fields beyond the layout.

        Such a field can't be copied, because a reference looks like a number.
        """
        return self._decoder(position, layout).unknown

    def vector(self, position: int, width: int) -> tuple[int, int]:
        """Return where the items of a vector begin, and how many items it has; each item has `width` bytes."""
        start = position + WORD
        if not 0 <= position <= self._size - WORD:
            raise MalformedError(f"a vector at byte {position} lies outside of the file")
        count: int = _U32.unpack_from(self._data, position)[0]
        if count * width > self._size - start:
            raise MalformedError(f"the vector at byte {position} with {count} items ends behind the file")
        return start, count

    def references(self, position: int) -> Iterator[int]:
        """Yield the positions that a vector of references points at; nothing for position 0."""
        if not position:
            return
        start, count = self.vector(position, WORD)
        for at, (distance,) in enumerate(_U32.iter_unpack(self._data[start : start + WORD * count])):
            yield self._target(start + WORD * at, distance)

    def integers(self, position: int) -> tuple[int, ...]:
        """Read a vector of 32-bit signed numbers; return () for position 0."""
        found = self._integers.get(position)
        return self._numbers(position, "i", WORD) if found is None else found

    def long_integers(self, position: int) -> tuple[int, ...]:
        """Read a vector of 64-bit signed numbers; return () for position 0."""
        found = self._integers.get(~position)
        return self._numbers(position, "q", 2 * WORD) if found is None else found

    def _numbers(self, position: int, form: str, width: int) -> tuple[int, ...]:
        """Read a vector of signed numbers of `width` bytes and cache it; `form` is struct's format, "i" or "q"."""
        start, count = self.vector(position, width)
        if count > MOST:
            raise MalformedError(f"the vector at byte {position} has {count} numbers")
        self._spend(width * count)
        found = struct.unpack_from(f"<{count}{form}", self._data, start)
        self._integers[position if form == "i" else ~position] = found
        return found

    def text(self, position: int) -> str:
        """Read a string; return '' for position 0. Bytes that are not UTF-8 become escapes."""
        if not position:
            return ""
        found = self._texts.get(position)
        if found is None:
            start, count = self.vector(position, 1)
            self._spend(count)
            found = str(self._data[start : start + count], "utf-8", "backslashreplace")
            self._texts[position] = found
        return found

    def _spend(self, size: int) -> None:
        """Count the bytes of vectors that were read.

        Raises MalformedError if all vectors together are longer than the file, because some of them then overlap.
        """
        self._spent += size
        if self._spent > self._size:
            raise MalformedError("its vectors lie over one another")

    def _target(self, at: int, distance: int) -> int:
        """Return the position that a reference at `at` points at. Raises MalformedError if it can't be right."""
        target = at + distance
        if not 0 < distance < LIMIT or target > self._size - WORD:
            raise MalformedError(f"the reference at byte {at} points outside of the file")
        if target % WORD:
            raise MalformedError(f"the reference at byte {at} points at byte {target}, where nothing can begin")
        return target

    def _read(self, position: int, layout: Layout, decoder: _Decoder) -> tuple[Any, ...]:
        """Read the numbers of the table at `position`. Raises MalformedError if the table ends behind the file."""
        try:
            return decoder.numbers.unpack_from(self._data, position)
        except struct.error:
            raise MalformedError(f"the {layout.table} table at byte {position} ends behind the file") from None

    def _decoder(self, position: int, layout: Layout) -> _Decoder:
        """Return the decoder of the table at `position`; tables with the same vtable share it."""
        if not 0 <= position <= self._size - WORD:
            raise MalformedError(f"a {layout.table} table at byte {position} lies outside of the file")
        vtable = position - _I32.unpack_from(self._data, position)[0]
        decoder = self._decoders.get((vtable, layout))
        if decoder is None:
            distances = self._vtable(vtable, f"the {layout.table} table at byte {position}")
            decoder = self._decoders[vtable, layout] = _decoder(distances, layout, position)
        return decoder

    def _vtable(self, vtable: int, whose: str) -> tuple[int, ...]:
        """Read the distances of a vtable by slot; `whose` names the table in an error."""
        if not 0 <= vtable <= self._size - WORD or vtable % 2:
            raise MalformedError(f"{whose} has its vtable outside of the file")
        size: int = _U16.unpack_from(self._data, vtable)[0]
        if size < WORD or size % 2 or vtable + size > self._size:
            raise MalformedError(f"{whose} has a vtable of {size} bytes")
        return struct.unpack_from(f"<{size // 2 - 2}H", self._data, vtable + WORD)


def _decoder(distances: tuple[int, ...], layout: Layout, position: int) -> _Decoder:
    """Return the decoder for tables with these distances. Raises MalformedError if fields overlap."""
    known = sorted((distance, slot) for slot, distance in enumerate(distances[: len(layout.names)]) if distance)
    pattern, end = "<", 0
    order = [len(known) + slot for slot in range(len(layout.names))]
    for place, (distance, slot) in enumerate(known):
        if distance < max(end, WORD):
            raise MalformedError(f"the {layout.table} table at byte {position} has fields that lie over one another")
        form = "I" if layout.formats[slot] in REFERENCES else layout.formats[slot]
        pattern += f"{distance - end}x{form}"
        end = distance + struct.calcsize("<" + form)
        order[slot] = place
    return _Decoder(
        struct.Struct(pattern),
        tuple(order),
        len(known),
        tuple((slot, distance) for distance, slot in known if layout.formats[slot] in REFERENCES),
        any(distances[len(layout.names) :]),
    )

"""A block of new FlatBuffer tables that stands in front of an old file and points into it.

References point forward only: an object stands behind whatever refers to it, and the old file behind all.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from graphfix.formats.tflite.file.schema import REFERENCES, Layout
from graphfix.results.records import dataclass

ALIGNMENT: Final = 16
"""Of a payload, and of the block's length: what is in the old file keeps its alignment."""
PAGE: Final = 4096
"""Of the block's length before a big file, whose pages the kernel can then share."""
_WORD: Final = struct.Struct("<I")
_LONG: Final = struct.Struct("<Q")


class TooLongError(Exception):
    """The block and the tables behind it would pass what a reference reaches."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A 64-bit position in the old file, to be written as one in the new file."""

    position: int


@dataclass(frozen=True, slots=True, eq=False)
class Integers:
    """A vector of numbers of one of struct's formats."""

    form: str
    values: Sequence[int]


@dataclass(frozen=True, slots=True, eq=False)
class Bytes:
    """A vector of bytes: a payload, which is aligned to 16, or a string, which ends with a NUL."""

    data: bytes
    text: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table: the fields that are there, by the names of its layout."""

    layout: Layout
    fields: Mapping[str, Field]


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """A vector of references, each to a new table or to a position in the old file."""

    items: Sequence[Table | int]


Part = Integers | Bytes | Table | Tables
"""What a reference may point at; a position in the old file is an int."""
Field = Part | Moved | int | float | bool


class Block:
    """The bytes of the new tables; what depends on the block's length is entered at the end."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._old: list[tuple[int, int]] = []
        """(where the reference stands, the position in the old file)."""
        self._moved: list[tuple[int, int]] = []
        self._vtables: dict[bytes, int] = {}
        self._plans: dict[tuple[Layout | str, ...], _Plan] = {}
        self._waiting: deque[tuple[Part, int]] = deque()
        """What is still to be written, and the reference to it."""

    def build(self, root: Table, identifier: bytes, padding: int, reach: int) -> memoryview:
        """Write the header, the root and all that it refers to; `padding` divides the length.

        Raises TooLongError where a reference can't reach the position `reach` of the old file.
        """
        self._bytes += bytes(4) + identifier
        self._waiting.append((root, 0))
        while self._waiting:
            part, slot = self._waiting.popleft()
            _WORD.pack_into(self._bytes, slot, self._write(part) - slot)
        self._pad(padding)
        length = len(self._bytes)
        if length + reach >= 1 << 31:
            raise TooLongError
        for slot, position in self._old:
            _WORD.pack_into(self._bytes, slot, length + position - slot)
        for slot, position in self._moved:
            _LONG.pack_into(self._bytes, slot, length + position)
        return memoryview(self._bytes)  # not copied: it may hold many stretched constants

    def _write(self, part: Part) -> int:
        """Write one object; return where it stands."""
        if isinstance(part, Table):
            return self._table(part)
        if isinstance(part, Tables):
            return self._references(part)
        if isinstance(part, Integers):
            return self._numbers(part)
        if part.text:
            return self._vector(4, len(part.data), part.data + b"\0")
        return self._vector(ALIGNMENT, len(part.data), part.data)

    def _pad(self, alignment: int, ahead: int = 0) -> int:
        """Fill up, so that what stands `ahead` bytes further is aligned; return where that starts."""
        self._bytes += bytes(-(len(self._bytes) + ahead) % alignment)
        return len(self._bytes)

    def _vector(self, alignment: int, count: int, data: bytes) -> int:
        position = self._pad(max(alignment, 4), 4)
        self._bytes += _WORD.pack(count)
        self._bytes += data
        return position

    def _numbers(self, part: Integers) -> int:
        data = struct.pack(f"<{len(part.values)}{part.form}", *part.values)
        return self._vector(struct.calcsize("<" + part.form), len(part.values), data)

    def _references(self, part: Tables) -> int:
        position = self._vector(4, len(part.items), bytes(4 * len(part.items)))
        for index, item in enumerate(part.items):
            self._point(position + 4 + 4 * index, item)
        return position

    def _point(self, slot: int, to: Part | int) -> None:
        if isinstance(to, int):
            self._old.append((slot, to))
        else:
            self._waiting.append((to, slot))

    def _table(self, part: Table) -> int:
        plan = self._plans.get((part.layout, *part.fields))
        if plan is None:
            plan = self._plans[part.layout, *part.fields] = _plan(part.layout, part.fields)
        vtable = self._vtable(plan.vtable)
        position = self._pad(_LONG.size if plan.wide else _WORD.size, _WORD.size)
        self._bytes += struct.pack(f"<i{plan.size - _WORD.size}x", position - vtable)
        for name, distance, number in plan.fields:
            value, at = part.fields[name], position + distance
            if isinstance(value, Integers | Bytes | Table | Tables):
                self._waiting.append((value, at))
            elif isinstance(value, Moved):
                self._moved.append((at, value.position))
            elif number is None:
                self._old.append((at, int(value)))
            else:
                number.pack_into(self._bytes, at, value)
        return position

    def _vtable(self, data: bytes) -> int:
        """Return where the vtable stands: tables with the same fields share one."""
        found = self._vtables.get(data)
        if found is None:
            found = self._vtables[data] = self._pad(_WORD.size)
            self._bytes += data
        return found


class _Plan(NamedTuple):
    """Where the fields of a table stand."""

    fields: tuple[tuple[str, int, struct.Struct | None], ...]
    """Name, distance from the table's begin, and how its number is written; None for a reference."""
    size: int
    vtable: bytes
    wide: bool
    """Whether there are fields of 8 bytes; the first of them stands 4 bytes behind the table's begin."""


def _plan(layout: Layout, names: Iterable[str]) -> _Plan:
    """Put the widest fields first: each is aligned when the first one is."""
    forms = {name: layout.formats[layout.names.index(name)] for name in names}
    numbers = {name: None if form in REFERENCES else struct.Struct("<" + form) for name, form in forms.items()}
    widths = {name: number.size if number else _WORD.size for name, number in numbers.items()}
    order = sorted(widths, key=lambda name: -widths[name])
    distances, end = {}, _WORD.size
    for name in order:
        distances[name] = end
        end += widths[name]
    slots = [distances.get(name, 0) for name in layout.names]
    while slots and not slots[-1]:
        slots.pop()
    return _Plan(
        tuple((name, distances[name], numbers[name]) for name in order),
        end,
        struct.pack(f"<{len(slots) + 2}H", 2 * len(slots) + 4, end, *slots),
        _LONG.size in widths.values(),
    )

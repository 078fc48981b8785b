"""Write a block of new FlatBuffer tables that is placed in front of an old file and refers to positions in it.

References point forward only: an object is behind all objects that refer to it, and the old file is behind the block.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from graphfix.formats.tflite.file.schema import REFERENCES, Layout
from graphfix.results.records import dataclass

ALIGNMENT: Final = 16
"""Payloads have this alignment, and the block's length is a multiple of it, so the old file's contents stay aligned."""
PAGE: Final = 4096
"""The block's length is a multiple of this in front of a big file, so that the kernel can share the file's pages."""
_WORD: Final = struct.Struct("<I")
_LONG: Final = struct.Struct("<Q")


class TooLongError(Exception):
    """The block and the tables behind it would be longer than a reference can reach."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A 64-bit position in the old file, which is written as the same byte's position in the new file."""

    position: int


@dataclass(frozen=True, slots=True, eq=False)
class Integers:
    """A vector of numbers; `form` is struct's format of one number."""

    form: str
    values: Sequence[int]


@dataclass(frozen=True, slots=True, eq=False)
class Bytes:
    """A vector of bytes: a payload, which is aligned to 16 bytes, or (if `text`) a string, which ends with a NUL."""

    data: bytes
    text: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A new table: the fields that are present, by the names of its layout."""

    layout: Layout
    fields: Mapping[str, Field]


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """A vector of references, each to a new table or to a position in the old file."""

    items: Sequence[Table | int]


Part = Integers | Bytes | Table | Tables
"""An object that a reference may point at. A reference to a position in the old file is an int."""
Field = Part | Moved | int | float | bool


class Block:
    """The bytes of the new tables; references that depend on the block's length are written at the end."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._old: list[tuple[int, int]] = []
        """References into the old file: (position of the reference in the block, position in the old file)."""
        self._moved: list[tuple[int, int]] = []
        self._vtables: dict[bytes, int] = {}
        self._plans: dict[tuple[Layout | str, ...], _Plan] = {}
        self._waiting: deque[tuple[Part, int]] = deque()
        """Objects that are not yet written, each with the position of the reference to it."""

    def build(self, root: Table, identifier: bytes, padding: int, reach: int) -> memoryview:
        """Return the block: the header, the root table, and all objects that it refers to.

        Its length is a multiple of `padding`. `reach` is a position in the old file that references must reach. Raises
        TooLongError if the distance is 2 GiB or more.
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
        return memoryview(self._bytes)  # The bytes are not copied, because they may contain many stretched constants.

    def _write(self, part: Part) -> int:
        """Write one object; return its position."""
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
        """Append zeros until the position `ahead` bytes behind the end is aligned; return the end."""
        self._bytes += bytes(-(len(self._bytes) + ahead) % alignment)
        return len(self._bytes)

    def _vector(self, alignment: int, count: int, data: bytes) -> int:
        """Write a vector: its count of items, and its bytes, which are aligned; return its position."""
        position = self._pad(max(alignment, 4), 4)
        self._bytes += _WORD.pack(count)
        self._bytes += data
        return position

    def _numbers(self, part: Integers) -> int:
        """Write a vector of numbers; return its position."""
        data = struct.pack(f"<{len(part.values)}{part.form}", *part.values)
        return self._vector(struct.calcsize("<" + part.form), len(part.values), data)

    def _references(self, part: Tables) -> int:
        """Write a vector of references, whose values are entered later; return its position."""
        position = self._vector(4, len(part.items), bytes(4 * len(part.items)))
        for index, item in enumerate(part.items):
            self._point(position + 4 + 4 * index, item)
        return position

    def _point(self, slot: int, to: Part | int) -> None:
        """Note the target of the reference at `slot`: an object to be written later, or a position in the old file."""
        if isinstance(to, int):
            self._old.append((slot, to))
        else:
            self._waiting.append((to, slot))

    def _table(self, part: Table) -> int:
        """Write a table; return its position."""
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
        """Return the position of a vtable; tables with the same fields share it."""
        found = self._vtables.get(data)
        if found is None:
            found = self._vtables[data] = self._pad(_WORD.size)
            self._bytes += data
        return found


class _Plan(NamedTuple):
    """Where the fields of a table are placed."""

    fields: tuple[tuple[str, int, struct.Struct | None], ...]
    """(name, distance from the table's begin, how its number is written; None for a reference) of each field."""
    size: int
    vtable: bytes
    wide: bool
    """Whether the table has fields of 8 bytes. The first of them is 4 bytes behind the table's begin."""


def _plan(layout: Layout, names: Iterable[str]) -> _Plan:
    """Return where the fields of a table are placed: the widest first, so that all are aligned if the first one is."""
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

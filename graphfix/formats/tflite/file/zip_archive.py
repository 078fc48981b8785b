"""A ZIP archive behind the tables (TFLite metadata): its absolute offsets, moved when a block is put in front.

The end of central directory record states where the directory lies, each entry of the directory where its
local header lies (PKWARE's APPNOTE, 4.3.12 and 4.3.16).
"""

from __future__ import annotations

import struct
from typing import Final

from graphfix.formats.neutral.files import Source

_END: Final = struct.Struct("<4sHHHHIIH")
_ENTRY: Final = struct.Struct("<4s24xHHH8xI")
"""Of an entry: the signature, the lengths of name, extra field and comment, and the local header's offset."""
END, ENTRY, LOCAL = b"PK\5\6", b"PK\1\2", b"PK\3\4"
LONGEST_COMMENT: Final = 0xFFFF
BEYOND: Final = 0xFFFFFFFF
"""What a 32-bit field holds in an archive that has ZIP64 fields."""

Patch = tuple[int, bytes]
"""What the copy of the file has at a position in place of what is there."""


def moved(source: Source, by: int) -> list[Patch]:
    """List the patches that move every offset by `by` bytes, in the order of their positions.

    No patches where there is no archive, where its offsets don't count from the file's begin, and for ZIP64.
    Raises OSError and GraphfixError where the source can't be read.
    """
    size = len(source.data)
    start = max(0, size - _END.size - LONGEST_COMMENT)
    tail = bytes(source.read(start, size))
    at = tail.rfind(END)
    while at >= 0:
        patches = _moved(source, tail, start, at, by)
        if patches:
            return patches
        at = tail.rfind(END, 0, at)
    return []


def _moved(source: Source, tail: bytes, start: int, at: int, by: int) -> list[Patch]:
    if at + _END.size > len(tail):
        return []
    _, disk, first, here, count, length, offset, comment = _END.unpack_from(tail, at)
    is_single_disk = (disk, first, here) == (0, 0, count) and at + _END.size + comment == len(tail)
    if not is_single_disk or offset + length != start + at or offset + by >= BEYOND:
        return []
    directory = bytes(source.read(offset, offset + length))
    patches = _entries(directory, offset, count, by)
    if patches is None or not all(source.read(old, old + 4) == LOCAL for old, _ in patches):
        return []
    place = start + at + 16
    return [*(patch for _, patch in patches), (place, struct.pack("<I", offset + by))]


def _entries(directory: bytes, offset: int, count: int, by: int) -> list[tuple[int, Patch]] | None:
    """For each entry where its local header lies, and its patch; None for a broken directory."""
    patches: list[tuple[int, Patch]] = []
    at = 0
    for _ in range(count):
        if at + _ENTRY.size > len(directory):
            return None
        sign, name, extra, comment, local = _ENTRY.unpack_from(directory, at)
        if sign != ENTRY or local + 4 > offset:
            return None
        patches.append((local, (offset + at + _ENTRY.size - 4, struct.pack("<I", local + by))))
        at += _ENTRY.size + name + extra + comment
    return patches if at == len(directory) else None

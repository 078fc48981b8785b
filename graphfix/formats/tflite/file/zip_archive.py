"""Adjust the absolute offsets of a ZIP archive at the end of a TFLite file (TFLite metadata) when a block is prepended.

The record "end of central directory" contains the position of the directory. Each entry of the directory contains the
position of its local header (source: PKWARE's APPNOTE, 4.3.12 and 4.3.16).
"""

from __future__ import annotations

import struct
from typing import Final

from graphfix.formats.neutral.files import Source

_END: Final = struct.Struct("<4sHHHHIIH")
_ENTRY: Final = struct.Struct("<4s24xHHH8xI")
"""Fields of a directory entry: signature, lengths of name, extra field and comment, offset of the local header."""
END, ENTRY, LOCAL = b"PK\5\6", b"PK\1\2", b"PK\3\4"
LONGEST_COMMENT: Final = 0xFFFF
BEYOND: Final = 0xFFFFFFFF
"""The value of a 32-bit field in an archive whose real value is in a ZIP64 field."""

Patch = tuple[int, bytes]
"""A position in the file, and the bytes that replace the file's bytes there."""


def moved(source: Source, by: int) -> list[Patch]:
    """Return the patches that add `by` bytes to every offset of the archive, in the order of their positions.

    Return no patches if there is no archive, if its offsets do not count from the file's begin, or for ZIP64. Raises
    OSError and GraphfixError if the source can't be read.
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
    """Return the patches for the archive whose end record is at `at` in `tail`.

    Return no patches if that is not the end record of an archive, or if the archive can't be adjusted. `tail` are the
    last bytes of the file, and `start` is their position in the file.
    """
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
    """Return the local header's position and the patch of each entry; None if the directory is broken."""
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

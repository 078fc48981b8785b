"""The parts of a file by which its kind is recognized; `file_kinds` asks for them, and nothing else does."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import BinaryIO, Final

HEAD: Final = 4096
"""Bytes from the begin of a file that are looked at."""
MOST_FIELDS: Final = 64
"""Fields of a protobuf message that are looked at, at most."""
LONGEST_FIELD_HEAD: Final = 20
"""Bytes of two numbers of protobuf: a field's tag, and its length."""
ONNX_GRAPH: Final = 7
"""The number of ModelProto's graph: SavedModel and Core ML have no field of this number."""
VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5
"""Wire types of protobuf."""
ZIP: Final = b"PK\3\4"


class Content:
    """A file's first bytes, and what they promise; the more expensive parts are read when they are first needed."""

    def __init__(self, file: BinaryIO) -> None:
        """Take a file that can be sought; its first bytes are read at once. Raises OSError."""
        self._file = file
        self.head = file.read(HEAD)

    @cached_property
    def text(self) -> str:
        """The first bytes as text, in lower case and without white space in front; "" for binary bytes."""
        return "" if b"\0" in self.head else self.head.decode("utf-8-sig", "replace").lstrip().lower()

    @cached_property
    def is_text(self) -> bool:
        """Whether the first bytes are words of a language or a program: printable characters and white space."""
        return bool(self.text) and all(each.isprintable() or each in "\t\n\r\f\x1b\ufffd" for each in self.text)

    @cached_property
    def members(self) -> Sequence[str]:
        """The names in a zip archive, and those below its only folder; () where it is none, or damaged."""
        if not self.head.startswith(ZIP):
            return ()
        import zipfile

        try:
            with zipfile.ZipFile(self._file) as archive:
                names = archive.namelist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            return ()
        folders = {name.partition("/")[0] for name in names}
        return [*names, *(name.partition("/")[2] for name in names)] if len(folders) == 1 else names

    @cached_property
    def fields(self) -> Mapping[int, int]:
        """The wire types of a protobuf message's first fields by number, up to an ONNX graph.

        {} where the bytes are no fields, or end inside a field.
        """
        found: dict[int, int] = {}
        size = self._file.seek(0, os.SEEK_END)
        end = 0
        for number, wire, end in self._walk(size):  # noqa: B007 -- the last end is looked at
            found.setdefault(number, wire)
            if number == ONNX_GRAPH:
                return found
        return found if end == size or len(found) == MOST_FIELDS else {}

    def _walk(self, size: int) -> Iterator[tuple[int, int, int]]:
        """Yield the number, the wire type and the end of each field; stop where the bytes are no field."""
        at = 0
        for _ in range(MOST_FIELDS):
            self._file.seek(at)
            start = self._file.read(LONGEST_FIELD_HEAD)
            tag, used = _number(start)
            value, more = _number(start[used:])
            wire = tag & 7
            length = {VARINT: more, FIXED_64: 8, BYTES: more and more + value, FIXED_32: 4}.get(wire)
            if not (used and tag >> 3 and length) or at + used + length > size:
                return
            at += used + length
            yield tag >> 3, wire, at


def _number(data: bytes) -> tuple[int, int]:
    """Read a number of protobuf; return it and its bytes, (0, 0) where there is none."""
    number = 0
    for at, byte in enumerate(data[:10]):
        number |= (byte & 0x7F) << 7 * at
        if byte < 0x80:  # noqa: PLR2004 -- the highest bit says that another byte follows
            return number, at + 1
    return 0, 0

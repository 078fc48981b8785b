"""Read the parts of a file by which `file_kinds` recognizes its kind; no other module uses this one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import BinaryIO, Final

HEAD: Final = 4096
"""Bytes that are read from the beginning of a file."""
MOST_FIELDS: Final = 64
"""The most fields of a protobuf message that are read."""
LONGEST_FIELD_HEAD: Final = 20
"""The most bytes of a protobuf field's tag and length, two varints."""
ONNX_GRAPH: Final = 7
"""The number of ModelProto's graph: SavedModel and Core ML have no field of this number."""
VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5
"""Wire types of protobuf."""
ZIP: Final = b"PK\3\4"


class Content:
    """The first bytes of a file, and parts that take longer to read; these are read when they are first needed."""

    def __init__(self, file: BinaryIO) -> None:
        """Read the first bytes of a seekable file. Raises OSError."""
        self._file = file
        self.head = file.read(HEAD)

    @cached_property
    def text(self) -> str:
        """Return the first bytes as text, in lower case and without leading white space; "" for binary bytes."""
        return "" if b"\0" in self.head else self.head.decode("utf-8-sig", "replace").lstrip().lower()

    @cached_property
    def is_text(self) -> bool:
        """Return whether the first bytes are text: printable characters and white space only."""
        return bool(self.text) and all(each.isprintable() or each in "\t\n\r\f\x1b\ufffd" for each in self.text)

    @cached_property
    def members(self) -> Sequence[str]:
        """Return the names in a zip archive, also relative to its only folder; () for other and for damaged files."""
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
        """Return the wire types of a protobuf message's first fields by number, up to the number of an ONNX graph.

        Returns {} if the bytes are not fields, or end inside a field.
        """
        found: dict[int, int] = {}
        size = self._file.seek(0, os.SEEK_END)
        end = 0
        for number, wire, end in self._walk(size):  # noqa: B007 -- the last end is used below
            found.setdefault(number, wire)
            if number == ONNX_GRAPH:
                return found
        return found if end == size or len(found) == MOST_FIELDS else {}

    def _walk(self, size: int) -> Iterator[tuple[int, int, int]]:
        """Yield the number, the wire type and the end of each field; stop at bytes that are not a field."""
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
    """Return a varint of protobuf and the number of its bytes; (0, 0) if the bytes are not a varint."""
    number = 0
    for at, byte in enumerate(data[:10]):
        number |= (byte & 0x7F) << 7 * at
        if byte < 0x80:  # noqa: PLR2004 -- the highest bit says that another byte follows
            return number, at + 1
    return 0, 0

"""Changes of a TFLite file that the object API does not reach: its identifier, what stands around the tables."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from tests.support.pairs.tflite_file import listed, packed, unpacked

DAMAGED = 40
"""How many files with one byte changed are made of a file."""
SEVERAL = {"bits_of_the_file": 8, "two_changes": 4}
"""Kinds of which more than one change is taken of a first file."""


def identifier(file: bytes) -> Iterator[bytes]:
    """Another one, or none."""
    for text in (b"TFL2", b"TFL4", b"\0\0\0\0", b"tfl3", b"ONNX"):
        yield file[:4] + text + file[8:]
    yield packed(unpacked(file), identifier=None)


def bytes_behind(file: bytes) -> Iterator[bytes]:
    """Bytes after the last table."""
    for more in (b"\0", b"\0" * 16, b"PK\5\6" + bytes(18), file):
        yield file + more


def bytes_cut(file: bytes) -> Iterator[bytes]:
    """The end missing."""
    for count in (1, 2, 4, 8, 16, 64):
        yield file[:-count]


def bytes_in_front(file: bytes) -> Iterator[bytes]:
    """The size of the file in front, as size-prefixed FlatBuffers have it."""
    yield struct.pack("<I", len(file)) + file


def defaults_written(file: bytes) -> Iterator[bytes]:
    """Fields of their default value, written out."""
    yield packed(unpacked(file), defaults=True)


def written_again(file: bytes) -> Iterator[bytes]:
    """The same tables in another place."""
    model = unpacked(file)
    yield packed(model)
    model.description = b"a longer description, which moves all that stands behind it"
    yield packed(model)


def data_behind_the_tables(file: bytes) -> Iterator[bytes]:
    """Constants moved behind the FlatBuffer, at their offset, with their size, and with wrong ones."""
    whole = unpacked(file)
    for index, buffer in enumerate(whole.buffers or ()):
        held = bytes(np.asarray(listed(buffer.data), np.uint8))
        if not held:
            continue
        for shift, more in ((0, 0), (4, 0), (0, 1), (0, -1), (10**6, 0)):
            model = unpacked(file)
            moved = model.buffers[index]
            moved.data, moved.offset, moved.size = None, 2**30, len(held)
            place = -(-len(packed(model)) // 16) * 16
            moved.offset, moved.size = place + shift, len(held) + more
            flat = packed(model)
            yield flat + bytes(place - len(flat)) + held


def bits_of_the_file(file: bytes) -> Iterator[bytes]:
    """One bit or one byte somewhere, or the offset of a field."""
    choose = random.Random(zlib.crc32(file))  # noqa: S311 -- changes, no secrets
    for _ in range(DAMAGED):
        damaged = bytearray(file)
        at = choose.randrange(8, len(file))
        damaged[at] = choose.choice((damaged[at] ^ 1 << choose.randrange(8), 0, 1, 255, damaged[at] + 4 & 255))
        yield bytes(damaged)


BYTES: Mapping[str, Callable[[bytes], Iterator[bytes]]] = {
    change.__name__: change
    for change in (
        identifier, bytes_behind, bytes_cut, bytes_in_front, defaults_written, written_again, data_behind_the_tables,
        bits_of_the_file,
    )
}  # fmt: skip

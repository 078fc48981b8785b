"""The bytes of constants: either in memory, or a range of an open file that is read piece by piece."""

from __future__ import annotations

import hashlib
import os
from contextlib import ExitStack
from io import FileIO
from stat import S_ISREG
from typing import TYPE_CHECKING, NamedTuple

from graphfix.results import GraphfixError
from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PIECE = 1 << 18
"""Bytes that are read at a time. Two pieces of this size stay in a processor's cache."""
SMALL = 1 << 12
"""Constants of up to this many bytes are kept in memory and looked up by all their bytes.

Larger constants are looked up by a digest of their first and last `SMALL` bytes, and compared completely after that.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A file that is open for reading, and its state when it was opened: device, inode, size and modification time."""

    path: Path
    file: FileIO
    state: tuple[int, ...]

    @classmethod
    def at(cls, path: Path, stack: ExitStack) -> Opened:
        """Open a file, which is closed when `stack` is closed. Raises GraphfixError if the file can't be opened."""
        try:
            file = stack.enter_context(open_regular(path))
        except OSError as error:
            raise GraphfixError(f"{path}: can't be read: {error.strerror}; give a file that can be read") from None
        return cls(path, file, _state(os.fstat(file.fileno())))

    @property
    def size(self) -> int:
        """Return the size in bytes that the file had when it was opened."""
        return self.state[2]

    def fill(self, buffer: bytearray, offset: int) -> None:
        """Fill the whole buffer with the file's bytes from `offset` on.

        Raises GraphfixError if the file ends before that.
        """
        self.file.seek(offset)
        with memoryview(buffer) as view:
            done = 0
            while done < len(buffer):  # The operating system reads at most 2 GiB per call.
                more = self.file.readinto(view[done:])
                if not more:
                    raise GraphfixError(f"{self.path}: ended while it was read; run again when nothing writes to it")
                done += more

    def check(self) -> None:
        """Raise GraphfixError if the file at this path was changed or replaced after it was opened."""
        if _state(self.path.stat()) != self.state:
            raise GraphfixError(f"{self.path}: changed while it was read; run again when nothing writes to it")


def open_regular(path: Path) -> FileIO:
    """Open a regular file for reading, without a buffer.

    Raises OSError if the file can't be opened, or if it is a pipe or a device. The call never waits for a writer of a
    pipe.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    if not S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "it is not a regular file")
    # A buffered file would copy each piece one more time.
    return FileIO(descriptor, "rb")


def _state(stat: os.stat_result) -> tuple[int, ...]:
    """Return device, inode, size and modification time: if none of the four differs, the file is taken as unchanged."""
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


class Payload(NamedTuple):
    """The elements of a constant, as bytes in memory or as a range of a file.

    If `file` is None, `data` contains the bytes. Otherwise the range has `length` bytes and begins at byte `offset`.
    """

    file: Opened | None
    offset: int
    length: int
    data: bytes = b""

    def read(self, start: int, count: int) -> bytes:
        """Return `count` bytes of the payload from `start` on; fewer bytes if the payload ends before."""
        count = max(min(count, self.length - start), 0)
        if self.file is None:
            return self.data[start : start + count]
        buffer = bytearray(count)
        self.file.fill(buffer, self.offset + start)
        return bytes(buffer)

    def _fill(self, buffer: bytearray, start: int) -> bytes | bytearray:
        """Return the bytes of the payload from `start` on, as many as `buffer` has room for.

        Near the end of the payload, the buffer is first shortened to the bytes that are left. Bytes of a file are read
        into the buffer, and the buffer is returned.
        """
        del buffer[self.length - start :]
        if self.file is None:
            return self.data[start : start + len(buffer)]
        self.file.fill(buffer, self.offset + start)
        return buffer

    def pieces(self, step: int = PIECE) -> Iterator[bytes]:
        """Yield all bytes of the payload in order, `step` bytes at a time."""
        for start in range(0, self.length, step):
            yield self.read(start, step)

    def part(self, start: int, length: int) -> Payload:
        """Return the range of this payload that begins at byte `start`, as a payload.

        The range must lie inside the payload.
        """
        if self.file is None:
            return stored_bytes(self.data[start : start + length])
        return Payload(self.file, self.offset + start, length)

    def same(self, other: Payload) -> bool:
        """Return whether two payloads have equal bytes.

        All bytes are compared, unless both payloads are the same range of the same unchanged file.
        """
        if self.length != other.length:
            return False
        if self._place is not None and self._place == other._place:
            return True
        step = min(PIECE, self.length)
        # Two buffers are reused for all pieces, because allocating new buffers costs more time than reading.
        one, two = bytearray(step), bytearray(step)
        return all(self._fill(one, start) == other._fill(two, start) for start in range(0, self.length, step or 1))

    @property
    def _place(self) -> tuple[object, ...] | None:
        """Return the state and the offset of the file's range; None for a payload in memory.

        Equal results mean the same bytes, for example if two models share one file of weights.
        """
        return None if self.file is None else (self.file.state, self.offset)

    @property
    def fingerprint(self) -> bytes:
        """Return a digest of the payload's first and last 4096 bytes.

        Equal payloads have equal digests. The digest only finds candidates, because different payloads may share it.
        """
        ends = self.read(0, SMALL) + self.read(max(self.length - SMALL, 0), SMALL)
        return hashlib.blake2b(ends, digest_size=16).digest()


def stored_bytes(data: bytes) -> Payload:
    """Return a payload of bytes that are in memory."""
    return Payload(None, 0, len(data), data)

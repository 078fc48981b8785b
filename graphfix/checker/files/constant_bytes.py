"""Where the bytes of a constant are: in memory, or in a range of an open file, which is read in pieces."""

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
"""Bytes that are read at a time: two of them stay in a processor's cache."""
SMALL = 1 << 12
"""Payloads up to this size are compared as a whole; of bigger ones the two ends are looked at first."""


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A file that is open for reading, and what it was when it was opened."""

    path: Path
    file: FileIO
    state: tuple[int, ...]

    @classmethod
    def at(cls, path: Path, stack: ExitStack) -> Opened:
        """Open a file for as long as the stack lives. Raises GraphfixError."""
        try:
            file = stack.enter_context(open_regular(path))
        except OSError as error:
            raise GraphfixError(f"{path}: can't be read: {error.strerror}; give a file that can be read") from None
        return cls(path, file, _state(os.fstat(file.fileno())))

    @property
    def size(self) -> int:
        """Return the bytes that the file holds."""
        return self.state[2]

    def fill(self, buffer: bytearray, offset: int) -> None:
        """Fill a buffer from here on. Raises GraphfixError where the file has become shorter."""
        self.file.seek(offset)
        with memoryview(buffer) as view:
            done = 0
            while done < len(buffer):  # one call of the system reads 2 GiB at most
                more = self.file.readinto(view[done:])
                if not more:
                    raise GraphfixError(f"{self.path}: ended while it was read; run again when nothing writes to it")
                done += more

    def check(self) -> None:
        """Raise GraphfixError where the path names other bytes now than those that were read."""
        if _state(self.path.stat()) != self.state:
            raise GraphfixError(f"{self.path}: changed while it was read; run again when nothing writes to it")


def open_regular(path: Path) -> FileIO:
    """Open a regular file for reading. Raises OSError, also for a pipe or a device, without waiting for its writer."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    if not S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "it is not a regular file")
    # unbuffered: a buffer would copy each piece once more
    return FileIO(descriptor, "rb")


def _state(stat: os.stat_result) -> tuple[int, ...]:
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


class Payload(NamedTuple):
    """The elements of a constant: bytes in memory, or a range of a file."""

    file: Opened | None
    offset: int
    length: int
    data: bytes = b""

    def read(self, start: int, count: int) -> bytes:
        """Return bytes of the range; fewer where it ends."""
        count = max(min(count, self.length - start), 0)
        if self.file is None:
            return self.data[start : start + count]
        buffer = bytearray(count)
        self.file.fill(buffer, self.offset + start)
        return bytes(buffer)

    def _fill(self, buffer: bytearray, start: int) -> bytes | bytearray:
        """Return as many bytes as the buffer holds; a buffer that ends behind the range is cut to what is left."""
        del buffer[self.length - start :]
        if self.file is None:
            return self.data[start : start + len(buffer)]
        self.file.fill(buffer, self.offset + start)
        return buffer

    def pieces(self, step: int = PIECE) -> Iterator[bytes]:
        """Yield all bytes in order."""
        for start in range(0, self.length, step):
            yield self.read(start, step)

    def part(self, start: int, length: int) -> Payload:
        """Return a range of this one."""
        if self.file is None:
            return stored_bytes(self.data[start : start + length])
        return Payload(self.file, self.offset + start, length)

    def same(self, other: Payload) -> bool:
        """Whether both hold the same bytes: all are compared, unless both are one range of one file."""
        if self.length != other.length:
            return False
        if self._place is not None and self._place == other._place:
            return True
        step = min(PIECE, self.length)
        # Two buffers for all pieces: new ones cost more than the reading.
        one, two = bytearray(step), bytearray(step)
        return all(self._fill(one, start) == other._fill(two, start) for start in range(0, self.length, step or 1))

    @property
    def _place(self) -> tuple[object, ...] | None:
        """Name a range of a file: two models beside one file of weights have the same."""
        return None if self.file is None else (self.file.state, self.offset)

    @property
    def fingerprint(self) -> bytes:
        """A short form that equal payloads share: it finds candidates, and proves nothing."""
        ends = self.read(0, SMALL) + self.read(max(self.length - SMALL, 0), SMALL)
        return hashlib.blake2b(ends, digest_size=16).digest()


def stored_bytes(data: bytes) -> Payload:
    """Hold elements in memory."""
    return Payload(None, 0, len(data), data)

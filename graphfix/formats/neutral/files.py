"""Map files into memory, copy them by ranges, and write files that appear complete or not at all."""

from __future__ import annotations

import errno
import mmap
import os
import stat
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from graphfix.results import GraphfixError
from graphfix.results.files.file_kinds import LFS_POINTER, refuse_no_file, refuse_pointer
from graphfix.results.records import dataclass, field

CHUNK: Final = 1 << 20
"""The number of bytes that are buffered in memory before they are written."""
BY_KERNEL: Final = 1 << 18
"""The shortest range, in bytes, that the kernel copies.

For a shorter one, reading and writing is cheaper than the call.
"""
KERNEL_CALL: Final = 1 << 30
"""The largest number of bytes that one system call is requested to copy. Linux copies less than 2^31."""
UNABLE: Final = frozenset(
    getattr(errno, name)
    for name in "EXDEV EINVAL ENOSYS EOPNOTSUPP ENOTSUP EPERM EBADF ENOTSOCK EOVERFLOW".split()
    if hasattr(errno, name)
)
"""Error numbers of a kernel that can't copy between two files, although reading and writing works.

Sources: copy_file_range(2), sendfile(2).
"""
BINARY: Final[int] = getattr(os, "O_BINARY", 0)

Span = tuple[int, int]
"""Start and stop of a range of the source, in bytes."""
Held = bytes | bytearray | memoryview
Piece = Held | Span
"""A part of a file to be written: literal bytes, or a range of the source."""


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Source:
    """The bytes from which a model was read: bytes in memory, or a mapped file.

    A file stays open while this object exists.
    """

    name: str
    """The name in error messages: the path, or `<bytes>`."""
    data: memoryview
    descriptor: int | None = None
    """The descriptor of the open file; None for bytes."""
    modified: int = 0
    """The time at which the file was last written, in ns; 0 for bytes."""

    def read(self, start: int, stop: int) -> bytes | memoryview:
        """Return the bytes from `start` to `stop`. Raises OSError, and GraphfixError if the file became shorter."""
        if self.descriptor is None:
            return self.data[start:stop]
        # Not read from the map, because the pages would count as this process's memory.
        os.lseek(self.descriptor, start, os.SEEK_SET)
        data = os.read(self.descriptor, stop - start)
        if len(data) != stop - start:
            raise GraphfixError(f"{self.name}: the file was cut short while it was in use; read it again")
        return data

    def forget(self, stop: int) -> None:
        """Release the pages of the mapped file before the offset `stop`.

        The system maps the neighbours of a page that is read, so more memory is in use than was read.
        """
        if isinstance(self.data.obj, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self.data.obj.madvise(mmap.MADV_DONTNEED, 0, stop)

    def check(self) -> None:
        """Raise GraphfixError if the file was written to since it was opened, because the ranges are then invalid."""
        if self.descriptor is None:
            return
        now = os.fstat(self.descriptor)
        if (now.st_size, now.st_mtime_ns) != (len(self.data), self.modified):
            raise GraphfixError(f"{self.name}: the file was changed while it was in use; read it again")


def open_source(source: Path | bytes) -> Source:
    """Map a file, or wrap bytes.

    Raises GraphfixError if the source is empty, or if the path does not exist, is not a regular file or can't be read.
    """
    if isinstance(source, bytes):
        if not source:
            raise GraphfixError("<bytes>: there are no bytes; give a serialized model")
        return Source("<bytes>", memoryview(source))
    try:
        return _map(source)
    except ValueError as error:  # The path contains a NUL character.
        raise GraphfixError(f"{str(source)!r}: {error}; give the path of a model") from error
    except OSError as error:
        raise GraphfixError(f"{source}: {reason(error)}; give the path of a model that can be read") from error


def _map(path: Path) -> Source:
    """Return a mapped file.

    Raises OSError, ValueError for a NUL in the path, and GraphfixError for an unusable file.
    """
    refuse_no_file(path)  # Checked before `open`, because `open` would wait for the writer of a pipe.
    descriptor = os.open(path, os.O_RDONLY | BINARY)
    try:
        found = os.fstat(descriptor)
        data = memoryview(mmap.mmap(descriptor, found.st_size, access=mmap.ACCESS_READ))
        source = Source(str(path), data, descriptor, found.st_mtime_ns)
    except BaseException:
        os.close(descriptor)
        raise
    weakref.finalize(source, os.close, descriptor)
    refuse_pointer(path, bytes(data[: len(LFS_POINTER)]))
    return source


def reason(error: OSError) -> str:
    """Return the system's text for an error, in lower case: `no space left on device`."""
    return (error.strerror or type(error).__name__).lower()


@dataclass(slots=True)
class Staging:
    """Files that are written under temporary names and renamed together. The last file is the model."""

    written: list[tuple[Path, Path]] = field(default_factory=list)
    """Temporary and final path of each file, in the order in which they are renamed."""
    placed_files: list[Path] = field(default_factory=list)
    """Files that already have their final names. They are removed on failure."""

    def write(self, path: Path, source: Source, pieces: Iterable[Piece]) -> None:
        """Write literal bytes and ranges of the source to a temporary file, which `commit` renames to `path`.

        Raises OSError, and GraphfixError if the source became shorter.
        """
        temporary = path.parent / f".graphfix-{os.urandom(8).hex()}.tmp"
        # Appended first, because an interrupt may happen before the file is complete.
        self.written.append((temporary, path))
        out = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, _mode(path))
        try:
            _write_pieces(out, source, pieces)
        finally:
            os.close(out)

    def copy(self, origin: Path, path: Path) -> None:
        """Write a copy of the file `origin`, which `commit` renames to `path`. Raises OSError and GraphfixError."""
        size = origin.stat().st_size
        source = open_source(origin) if size else Source(str(origin), memoryview(b""))
        self.write(path, source, [(0, len(source.data))])

    def commit(self) -> None:
        """Rename all files to their final names.

        The last file, the model, may replace an existing file. Raises GraphfixError if a data file would replace one.
        """
        *data, model = self.written
        for temporary, path in data:
            if os.path.lexists(path):
                raise GraphfixError(f"{path}: a file of this name has just appeared; choose another name")
            temporary.replace(path)
            self.placed_files.append(path)
        model[0].replace(model[1])

    def rollback(self) -> None:
        """Remove the files that were written.

        Nothing is removed if the model already has its final name: then an interrupt happened after the last renaming.
        """
        if self.placed_files and not os.path.lexists(self.written[-1][0]):
            return
        for path in [temporary for temporary, _ in self.written] + self.placed_files:
            with suppress(OSError):  # The first failure is the error to report.
                path.unlink(missing_ok=True)


@contextmanager
def staged(out: Path) -> Iterator[Staging]:
    """Return a context manager that yields a Staging, whose files all get their final names at the end.

    On any failure or interrupt no file is left. Raises GraphfixError if the system can't write. The error names `out`,
    the file that the user requested.
    """
    staging = Staging()
    try:
        yield staging
        staging.commit()
    except BaseException as error:
        staging.rollback()
        if not isinstance(error, OSError):
            raise
        raise GraphfixError(f"{out}: can't be written: {reason(error)}; make room or choose another place") from error


def _mode(path: Path) -> int:
    """Return the permissions for a new file: those of the file that it replaces, or 0o666.

    The umask applies to both.
    """
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666


def _write_pieces(out: int, source: Source, pieces: Iterable[Piece]) -> None:
    """Write all pieces to the open file `out`. Small pieces are joined, and long ranges are copied by the kernel."""
    waiting: list[Held] = []
    size = 0
    for piece in pieces:
        length = piece[1] - piece[0] if isinstance(piece, tuple) else len(piece)
        big = length >= (BY_KERNEL if isinstance(piece, tuple) else CHUNK)
        if big or size >= CHUNK:
            write_all(out, b"".join(waiting))
            waiting, size = [], 0
        if not big:
            waiting.append(source.read(*piece) if isinstance(piece, tuple) else piece)
            size += length
        elif isinstance(piece, tuple):
            copy_range(source, out, *piece)
        else:
            write_all(out, piece)
    write_all(out, b"".join(waiting))


def write_all(out: int, data: Held) -> None:
    """Write all bytes of `data` to the file descriptor `out`, in several calls if needed. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(out, view) :]


def copy_range(source: Source, out: int, start: int, stop: int) -> None:
    """Append the bytes from `start` to `stop` of the source to the file descriptor `out`, by the kernel if it can.

    Raises OSError, and GraphfixError if the source became shorter.
    """
    for copy in _kernel_copies(source.descriptor, out):
        start = _copy_by(copy, start, stop)
    while start < stop:
        end = min(start + CHUNK, stop)
        write_all(out, source.read(start, end))
        start = end


def _copy_by(copy: Callable[[int, int], int], start: int, stop: int) -> int:
    """Copy from `start` to `stop` with one function of the kernel, and return the position at which it stopped.

    The position is less than `stop` if the kernel can't copy (further) between these files.
    """
    while start < stop:
        try:
            done = copy(start, min(stop - start, KERNEL_CALL))
        except OSError as error:
            if error.errno in UNABLE:
                return start
            raise
        if not done:
            return start
        start += done
    return start


def _kernel_copies(source: int | None, out: int) -> list[Callable[[int, int], int]]:
    """Return functions that copy without reading, the best first: (start offset, number of bytes) -> bytes copied."""
    ways: list[Callable[[int, int], int]] = []
    if source is not None and hasattr(os, "copy_file_range"):
        ways.append(lambda at, size: os.copy_file_range(source, out, size, at))
    if source is not None and hasattr(os, "sendfile"):
        ways.append(lambda at, size: os.sendfile(out, source, at, size))
    return ways

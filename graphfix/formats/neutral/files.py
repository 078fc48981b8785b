"""Files are mapped, copied by ranges, and appear whole or not at all."""

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
"""Bytes that are held in memory at a time."""
BY_KERNEL: Final = 1 << 18
"""Bytes; a shorter range is read and written with its neighbours: cheaper than a call to copy it."""
KERNEL_CALL: Final = 1 << 30
"""Bytes that one call is asked to copy; Linux copies less than 2^31."""
UNABLE: Final = frozenset(
    getattr(errno, name)
    for name in "EXDEV EINVAL ENOSYS EOPNOTSUPP ENOTSUP EPERM EBADF ENOTSOCK EOVERFLOW".split()
    if hasattr(errno, name)
)
"""What a kernel answers that can't copy between two files (copy_file_range(2), sendfile(2)); reading can."""
BINARY: Final[int] = getattr(os, "O_BINARY", 0)

Span = tuple[int, int]
"""Start and stop of a range of the source, in bytes."""
Held = bytes | bytearray | memoryview
Piece = Held | Span
"""What a file is written from: literal bytes, or a range of the source."""


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Source:
    """The bytes a model was read from: a mapped file, which stays open while the source lives, or bytes."""

    name: str
    """What error messages call it."""
    data: memoryview
    descriptor: int | None = None
    """None for bytes."""
    modified: int = 0
    """When the file was last written, in ns."""

    def read(self, start: int, stop: int) -> bytes | memoryview:
        """Read a range. Raises OSError, and GraphfixError where the file ends earlier than it did."""
        if self.descriptor is None:
            return self.data[start:stop]
        # Not from the map: the pages touched there would count as this process's memory.
        os.lseek(self.descriptor, start, os.SEEK_SET)
        data = os.read(self.descriptor, stop - start)
        if len(data) != stop - start:
            raise GraphfixError(f"{self.name}: the file was cut short while it was in use; read it again")
        return data

    def forget(self, stop: int) -> None:
        """Release the pages of the map before `stop`: where one is read the system maps its neighbours too."""
        if isinstance(self.data.obj, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self.data.obj.madvise(mmap.MADV_DONTNEED, 0, stop)

    def check(self) -> None:
        """Raise GraphfixError where the file was written to since it was opened: its ranges are void."""
        if self.descriptor is None:
            return
        now = os.fstat(self.descriptor)
        if (now.st_size, now.st_mtime_ns) != (len(self.data), self.modified):
            raise GraphfixError(f"{self.name}: the file was changed while it was in use; read it again")


def open_source(source: Path | bytes) -> Source:
    """Map a file, or wrap bytes. Raises GraphfixError where it is missing, no file, empty, or unreadable."""
    if isinstance(source, bytes):
        if not source:
            raise GraphfixError("<bytes>: there are no bytes; give a serialized model")
        return Source("<bytes>", memoryview(source))
    try:
        return _map(source)
    except ValueError as error:  # a NUL in the name
        raise GraphfixError(f"{str(source)!r}: {error}; give the path of a model") from error
    except OSError as error:
        raise GraphfixError(f"{source}: {reason(error)}; give the path of a model that can be read") from error


def _map(path: Path) -> Source:
    refuse_no_file(path)  # before `open`, which would wait for the writer of a pipe
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
    """Return what went wrong in the system's words, in lower case: `no space left on device`."""
    return (error.strerror or type(error).__name__).lower()


@dataclass(slots=True)
class Staging:
    """Files that are written under temporary names and renamed together; the model is the last one."""

    written: list[tuple[Path, Path]] = field(default_factory=list)
    """Temporary and final name, in the order of their renaming."""
    placed_files: list[Path] = field(default_factory=list)
    """Files that have their final names already, to be removed on failure."""

    def write(self, path: Path, source: Source, pieces: Iterable[Piece]) -> None:
        """Write literal bytes and ranges of the source. Raises OSError, and GraphfixError if it shrank."""
        temporary = path.parent / f".graphfix-{os.urandom(8).hex()}.tmp"
        self.written.append((temporary, path))  # first: an interrupt may come in between
        out = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, _mode(path))
        try:
            _write_pieces(out, source, pieces)
        finally:
            os.close(out)

    def copy(self, origin: Path, path: Path) -> None:
        """Write a copy of a whole file. Raises OSError and GraphfixError."""
        size = origin.stat().st_size
        source = open_source(origin) if size else Source(str(origin), memoryview(b""))
        self.write(path, source, [(0, len(source.data))])

    def commit(self) -> None:
        """Rename all files to their final names: the last one, the model, may replace a file; data files never do."""
        *data, model = self.written
        for temporary, path in data:
            if os.path.lexists(path):
                raise GraphfixError(f"{path}: a file of this name has just appeared; choose another name")
            temporary.replace(path)
            self.placed_files.append(path)
        model[0].replace(model[1])

    def rollback(self) -> None:
        """Remove what was written, unless an interrupt came after the last renaming: the model has its final name."""
        if self.placed_files and not os.path.lexists(self.written[-1][0]):
            return
        for path in [temporary for temporary, _ in self.written] + self.placed_files:
            with suppress(OSError):  # what failed first is the error to report
                path.unlink(missing_ok=True)


@contextmanager
def staged(out: Path) -> Iterator[Staging]:
    """Write files that all get their names at the end, or, on any failure or interrupt, leave no trace.

    Raises GraphfixError where the system refuses to write `out`, the file that the user named.
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
    """Choose the permissions of the file that is replaced, or the usual ones; the umask applies to both."""
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666


def _write_pieces(out: int, source: Source, pieces: Iterable[Piece]) -> None:
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
    """Write all of it: one call may take less. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(out, view) :]


def copy_range(source: Source, out: int, start: int, stop: int) -> None:
    """Append a range of the source, by the kernel where it can.

    Raises OSError, and GraphfixError where the source ends earlier than it did.
    """
    for copy in _kernel_copies(source.descriptor, out):
        start = _copy_by(copy, start, stop)
    while start < stop:
        end = min(start + CHUNK, stop)
        write_all(out, source.read(start, end))
        start = end


def _copy_by(copy: Callable[[int, int], int], start: int, stop: int) -> int:
    """Copy as far as one of the kernel's ways goes, to `stop` or to where it can't; say how far that is."""
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
    """List the ways to copy without reading, best first: (from where, how many bytes) -> bytes copied."""
    ways: list[Callable[[int, int], int]] = []
    if source is not None and hasattr(os, "copy_file_range"):
        ways.append(lambda at, size: os.copy_file_range(source, out, size, at))
    if source is not None and hasattr(os, "sendfile"):
        ways.append(lambda at, size: os.sendfile(out, source, at, size))
    return ways

"""A folder behind a URL as a store, through fsspec.

Credentials, endpoints and retries are those of fsspec's packages.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from graphfix.batch.stores import urls
from graphfix.batch.stores.store import Digest, Identity, checked, failed, text_of
from graphfix.results import GraphfixError
from graphfix.runtimes.extras import install_command

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

CHUNK = 16 << 20
"""The bytes of one request. A store needs memory for a few such pieces. S3 allows 10,000 pieces per file."""
SECRET = re.compile(r"(\w+://[^/@]*?:)([^/@]*)(?=@)")
"""A regular expression for a password in a URL, `ftp://name:password@host`: the part before it, and the password."""
MARKS = ("ETag", "etag", "md5Hash", "md5", "checksum", "generation")
"""Keys under which stores return an identifier of a file's bytes. (HTTP's `ukey` identifies only the URL.)"""
WEAK = "W/"
"""The prefix of an ETag that may be equal for different bytes."""


@cache
def kind(protocol: str) -> str:
    """Return a name that is equal for all protocols of one kind of store, such as s3 and s3a.

    For a protocol that no package reads, return the protocol.
    """
    try:
        import fsspec

        made = fsspec.get_filesystem_class(protocol)
    except (ImportError, ValueError):
        return protocol
    return f"{made.__module__}.{made.__qualname__}"


def opened(url: str) -> Remote:
    """Return the folder of a URL. Raises GraphfixError if no installed package reads such a URL."""
    if secret := SECRET.match(url):
        what = "a password in a URL would be printed and remembered; leave it to fsspec's or the store's own settings"
        raise GraphfixError(f"{secret[1]}***{url[secret.end(2) :]}: {what}")
    if "::" in url:
        raise GraphfixError(f"{url}: URLs of several parts (::) are not read; name the place itself")
    try:
        import fsspec
    except ImportError:
        raise GraphfixError(f"{url}: a URL needs fsspec, which is not installed: {install_command('batch')}") from None
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        how = install_command("batch") if url.startswith(("s3://", "s3a://")) else _line(error)
        raise GraphfixError(f"{url}: what reads such URLs is not installed: {how}") from None
    except ValueError as error:
        raise GraphfixError(f"{url}: {_line(error)}; name a path, or a URL such as s3://bucket/folder") from None
    except Exception as error:  # noqa: BLE001 -- a store's package raises what it likes
        raise failed(error, url, "can't be opened") from None
    return Remote(url if url.endswith("://") else url.rstrip("/"), system, path.rstrip("/"))


@dataclass(frozen=True, slots=True)
class Remote:
    """A folder of a store. Every error of the store is raised as an OSError."""

    url: str
    system: AbstractFileSystem
    path: str
    """The folder's name in fsspec."""

    def _fresh(self) -> AbstractFileSystem:
        """Return the file system without its cached listings, which do not contain new files."""
        self.system.invalidate_cache()
        return self.system

    def place(self, name: str) -> str:
        """Return the URL of a file."""
        return f"{self.url}/{name}" if name and not self.url.endswith("/") else self.url + name

    def local(self, name: str) -> None:
        """Return None, because the file must be fetched."""

    def names(self, depth: int | None = None) -> list[str]:
        """Return all files below the folder, at most `depth` levels deep, sorted by the parts of their names."""
        with self._asked("", "can't be listed"):
            found = self._fresh().find(self.path, maxdepth=depth)
        names = (path.removeprefix(f"{self.path}/") if self.path else path.lstrip("/") for path in found)
        return sorted(names, key=lambda name: name.split("/"))

    def is_folder(self) -> bool:
        """Return whether there is a file below the folder."""
        with self._asked("", "can't be listed"):
            return bool(self._fresh().isdir(self.path))

    def identity(self, name: str) -> Identity | None:
        """Return the size and the identifier of a file from the store; None if there is no such file."""
        with self._asked(name, "can't be read"):
            try:
                return identity_of(self._fresh().info(self._at(name)))
            except FileNotFoundError:
                return None

    def digest(self, name: str) -> Digest:
        """Return the digest of a file, which is read in pieces."""
        return self._read(name, lambda _: None)

    def fetch(self, name: str, path: Path) -> Digest:
        """Copy a file in pieces to the new path `path`, and return its digest."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            return self._read(name, file.write)

    def publish(self, made: Path, name: str) -> Digest:
        """Send a file in pieces, then read its identifier from the store."""
        digest = hashlib.sha256()
        with made.open("rb") as file, self._asked(checked(name), "can't be written"):
            self._send(name, _hashed(file, digest.update))
        size = made.stat().st_size
        there = self.identity(name)
        if there is None or there.size != size:
            raise OSError(f"{self.place(name)}: it was replaced or removed while it was written; try again")
        return Digest(name, size, digest.hexdigest(), there.mark)

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        with self._asked(checked(name), "can't be removed"), suppress(FileNotFoundError):
            self.system.rm_file(self._at(name))

    def read_text(self, name: str, most: int) -> str | None:
        """Return a text; None if there is no such file, or if it is too long or not a text."""
        there = self.identity(name)
        if there is None or there.size > most:
            return None
        with self._asked(name, "can't be read"):
            return text_of(self.system.cat_file(self._at(name)), most)

    def write_text(self, name: str, text: str) -> None:
        """Send a text; it appears complete or not at all."""
        with self._asked(checked(name), "can't be written"):
            self._send(name, iter((text.encode("utf-8"),)))

    def _at(self, name: str) -> str:
        return f"{self.path}/{name}" if name and self.path else self.path or name

    @contextmanager
    def _asked(self, name: str, what: str) -> Iterator[None]:
        """Convert every exception of the store in this context to an OSError."""
        try:
            yield
        except GraphfixError:
            raise
        except Exception as error:  # noqa: BLE001 -- a store's package raises what it likes
            raise failed(error, self.place(name), what) from None

    def _read(self, name: str, take: Callable[[bytes], object]) -> Digest:
        """Pass the pieces of a file to `take`, and return its digest."""
        digest, size = hashlib.sha256(), 0
        path = self._at(name)
        with (
            self._asked(name, "can't be read"),
            self._fresh().open(path, "rb", block_size=CHUNK, cache_type="none") as file,
        ):
            said = getattr(file, "details", None) or self.system.info(path)
            for piece in _pieces(file):
                digest.update(piece)
                size += len(piece)
                take(piece)
        there = identity_of(said)
        if there is None or there.size != size:
            raise OSError(f"{urls.shown(self.place(name))}: it was changed while it was read; try again")
        return Digest(name, size, digest.hexdigest(), there.mark)

    def _send(self, name: str, pieces: Iterator[bytes]) -> None:
        """Send the pieces of a file, so that the object appears only when all pieces are sent.

        A small object is sent in one request. For larger ones, the file is not opened in a `with`, because its end
        would complete the object even after an error; it is discarded instead.
        """
        if "memory" in self.system.protocol:  # there a file appears when it is opened
            self.system.pipe_file(self._at(name), b"".join(pieces))
            return
        first, second = next(pieces, b""), next(pieces, b"")
        if self.system.async_impl and not second:
            self.system.pipe_file(self._at(name), first)
            return
        pieces = chain((first, second), pieces)
        del first, second  # each piece is as big as the store's buffer
        if not self.system.async_impl:
            self.system.makedirs(self._at(name).rpartition("/")[0], exist_ok=True)
        file = self.system.open(self._at(name), "wb", block_size=CHUNK, autocommit=False)
        try:
            for piece in pieces:
                file.write(piece)
            file.close()
            file.commit()
        except BaseException:
            file.discard()
            with suppress(AttributeError):  # files of other kinds do not complete what was not closed
                file.closed = True  # else it is closed, and so completed, when it is collected
            raise


def identity_of(said: Mapping[str, Any]) -> Identity | None:
    """Return the identity of a file from a store's `info`; None for a folder.

    The size is -1 if the store does not return it.
    """
    if said.get("type") == "directory":
        return None
    mark = next((str(said[key]) for key in MARKS if said.get(key)), "")
    size = said.get("size")
    return Identity(-1 if size is None else int(size), "" if mark.startswith(WEAK) else mark)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    if isinstance(file, io.BytesIO):  # memory:// gives one object to all who read it: its position is theirs too
        data = file.getbuffer()
        yield from (bytes(data[start : start + CHUNK]) for start in range(0, len(data), CHUNK))
        return
    while piece := file.read(CHUNK):
        yield piece


def _hashed(file: IO[bytes], update: Callable[[bytes], object]) -> Iterator[bytes]:
    while piece := file.read(CHUNK):
        update(piece)
        yield piece


def _line(error: Exception) -> str:
    return " ".join(str(error).split())

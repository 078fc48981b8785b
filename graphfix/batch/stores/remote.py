"""A folder behind a URL, by fsspec: credentials, endpoints and retries are its own and those of the package below."""

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
"""Bytes that are asked for, or sent, at once; a store holds some copies of so many. S3 takes 10,000 such parts."""
SECRET = re.compile(r"(\w+://[^/@]*?:)([^/@]*)(?=@)")
"""`ftp://name:password@host`: what stands before the password, and it."""
MARKS = ("ETag", "etag", "md5Hash", "md5", "checksum", "generation")
"""Where stores say in their `info` which bytes a file has. (HTTP's `ukey` is that of the URL alone.)"""
WEAK = "W/"
"""How an ETag begins that is the same for other bytes too."""


@cache
def kind(protocol: str) -> str:
    """One word for all protocols of one kind of store, as s3 and s3a; a protocol that nothing reads is a kind."""
    try:
        import fsspec

        made = fsspec.get_filesystem_class(protocol)
    except (ImportError, ValueError):
        return protocol
    return f"{made.__module__}.{made.__qualname__}"


def opened(url: str) -> Remote:
    """The folder. Raises GraphfixError where nothing that is installed reads such a URL."""
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
    """A folder of a store; what the store can't do, whatever it raises for that, is an OSError."""

    url: str
    system: AbstractFileSystem
    path: str
    """As fsspec names the folder."""

    def _fresh(self) -> AbstractFileSystem:
        """The system, which keeps listings: none that was made before, for what is new is not in it."""
        self.system.invalidate_cache()
        return self.system

    def place(self, name: str) -> str:
        """The URL."""
        return f"{self.url}/{name}" if name and not self.url.endswith("/") else self.url + name

    def local(self, name: str) -> None:
        """None: it must be fetched."""

    def names(self, depth: int | None = None) -> list[str]:
        """All files below the folder, so many folders deep, sorted by their parts."""
        with self._asked("", "can't be listed"):
            found = self._fresh().find(self.path, maxdepth=depth)
        names = (path.removeprefix(f"{self.path}/") if self.path else path.lstrip("/") for path in found)
        return sorted(names, key=lambda name: name.split("/"))

    def is_folder(self) -> bool:
        """Whether something is below it."""
        with self._asked("", "can't be listed"):
            return bool(self._fresh().isdir(self.path))

    def identity(self, name: str) -> Identity | None:
        """What the store says of the file."""
        with self._asked(name, "can't be read"):
            try:
                return identity_of(self._fresh().info(self._at(name)))
            except FileNotFoundError:
                return None

    def digest(self, name: str) -> Digest:
        """Read the file in pieces."""
        return self._read(name, lambda _: None)

    def fetch(self, name: str, path: Path) -> Digest:
        """Read the file in pieces into another."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            return self._read(name, file.write)

    def publish(self, made: Path, name: str) -> Digest:
        """Send the file in pieces, then ask the store for its mark."""
        digest = hashlib.sha256()
        with made.open("rb") as file, self._asked(checked(name), "can't be written"):
            self._send(name, _hashed(file, digest.update))
        size = made.stat().st_size
        there = self.identity(name)
        if there is None or there.size != size:
            raise OSError(f"{self.place(name)}: it was replaced or removed while it was written; try again")
        return Digest(name, size, digest.hexdigest(), there.mark)

    def remove(self, name: str) -> None:
        """Remove the file."""
        with self._asked(checked(name), "can't be removed"), suppress(FileNotFoundError):
            self.system.rm_file(self._at(name))

    def read_text(self, name: str, most: int) -> str | None:
        """Read the text, where it is not too long."""
        there = self.identity(name)
        if there is None or there.size > most:
            return None
        with self._asked(name, "can't be read"):
            return text_of(self.system.cat_file(self._at(name)), most)

    def write_text(self, name: str, text: str) -> None:
        """Send the text."""
        with self._asked(checked(name), "can't be written"):
            self._send(name, iter((text.encode("utf-8"),)))

    def _at(self, name: str) -> str:
        return f"{self.path}/{name}" if name and self.path else self.path or name

    @contextmanager
    def _asked(self, name: str, what: str) -> Iterator[None]:
        """Let whatever comes of the store be an OSError."""
        try:
            yield
        except GraphfixError:
            raise
        except Exception as error:  # noqa: BLE001 -- a store's package raises what it likes
            raise failed(error, self.place(name), what) from None

    def _read(self, name: str, take: Callable[[bytes], object]) -> Digest:
        """Give the file away in pieces, while its digest is made."""
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
        """Let the object appear when all pieces are sent.

        A store of objects takes a small one in one request. A file that is written is closed by its `with`, and
        so completed, when an error ends that: it is opened without, and discarded.
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
    """Of what a store says of a file; None for a folder. A size that is not said is -1: no file's."""
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

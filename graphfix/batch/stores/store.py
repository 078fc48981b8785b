"""The interface of a store: a folder, local or behind a URL, and the errors that it raises."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Protocol

from graphfix.batch.stores import urls
from graphfix.results import GraphfixError

ABSENT = (404, 410)
"""HTTP statuses for a missing file."""
REFUSED = (401, 403)
"""HTTP statuses for a missing permission."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Facts about a file that a store returns without reading it."""

    size: int
    mark: str = ""
    """The store's identifier of these bytes, such as an ETag. If it is empty, only the bytes can be compared."""


@dataclass(frozen=True, slots=True)
class Digest:
    """The digest of a file."""

    name: str
    """The name below the store's folder, with `/`."""
    size: int
    sha256: str
    mark: str = ""
    """The identifier, as in `Identity.mark`."""


class Store(Protocol):
    """A folder. Names are relative to it, with `/`. Every failure raises OSError with the name of the file."""

    def place(self, name: str) -> str:
        """Return the path or the URL of a file as reports show it."""

    def local(self, name: str) -> Path | None:
        """Return the path of a file that can be read locally; None if it must be fetched."""

    def identity(self, name: str) -> Identity | None:
        """Return the present identity of a file, without cached listings; None if there is no such file."""

    def digest(self, name: str) -> Digest:
        """Return the digest of a file, which is read completely, in pieces."""

    def fetch(self, name: str, path: Path) -> Digest:
        """Copy a file to a new local path, in pieces, and return its digest. The folders of the path are made."""

    def publish(self, made: Path, name: str) -> Digest:
        """Make a local file appear under a name, complete or not at all. The local file may be moved."""

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""

    def read_text(self, name: str, most: int) -> str | None:
        """Return a small file's text; None if there is none, if it is longer than `most` bytes, or not text."""

    def write_text(self, name: str, text: str) -> None:
        """Make a small text appear under a name, complete or not at all."""


def beginning(store: Store) -> str:
    """Return the prefix of the places of all files of a folder."""
    return store.place("x").removesuffix("x")


def checked(name: str) -> str:
    """Return the name. Raises GraphfixError for a name that would lead out of the folder."""
    if "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
        raise GraphfixError(f"{name!r}: no name for a file below a folder; rename the model, or leave it out")
    return name


def failed(error: Exception, place: str, what: str) -> OSError:
    """Return an OSError of one line, with the place, for an error of the system or of a store.

    The kinds FileNotFoundError and PermissionError are kept.
    """
    error, place = _reason(error, place), urls.shown(place)
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(f"{place}: {what}: no such file; look for it, or leave it out")
    text = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    why = urls.shown(" ".join(text.split()))
    if isinstance(error, PermissionError):
        return PermissionError(f"{place}: {what}: {why}; ask for the permission, or choose another place")
    return OSError(f"{place}: {what}: {why}; try again, or choose another place")


def _reason(error: Exception, place: str) -> Exception:
    """Return the error, or its real cause. fsspec reports every failure of an HTTP server as a missing file."""
    cause = error.__cause__
    if not (isinstance(error, FileNotFoundError) and isinstance(cause, Exception) and place.startswith(urls.QUERIED)):
        return error
    status = getattr(cause, "status", None)
    if status in ABSENT:
        return error
    if status is None:
        return cause
    kind = PermissionError if status in REFUSED else OSError
    return kind(f"{status} {getattr(cause, 'message', '')}")


@contextmanager
def reported(place: str, what: str) -> Iterator[None]:
    """Convert an error of the system in this context to an OSError with the file's place."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise failed(error, place, what) from None


def digest_of(path: Path, name: str) -> Digest:
    """Return the digest of a local file, which is read in pieces. Raises OSError."""
    with reported(str(path), "can't be read"), _opened(path) as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return Digest(name, os.fstat(file.fileno()).st_size, sha256)


def _opened(path: Path) -> BufferedReader:
    """Open a file. Raises OSError, also for a pipe or a device, which may have no end."""
    if path.exists() and not path.is_file():
        raise OSError("it is not a regular file")
    return path.open("rb")


def text_of(data: bytes, most: int) -> str | None:
    """Return bytes as text; None if they are not UTF-8 or more than `most`."""
    if len(data) > most:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None

"""What a store is: a folder, here or behind a URL, whose files are named, and what it raises."""

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
"""What HTTP servers answer where there is no such file."""
REFUSED = (401, 403)
"""What they answer whom they do not give it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a store says of a file without reading it."""

    size: int
    mark: str = ""
    """The store's own name of these very bytes, such as an ETag; empty where it has none: the bytes decide."""


@dataclass(frozen=True, slots=True)
class Digest:
    """Which bytes a file has."""

    name: str
    """Below the folder of its store, with `/`."""
    size: int
    sha256: str
    mark: str = ""
    """As `Identity.mark`."""


class Store(Protocol):
    """A folder. Names are below it, with `/`. What the store can't do raises OSError, which names the file."""

    def place(self, name: str) -> str:
        """The path or the URL of a file, as reports name it."""

    def local(self, name: str) -> Path | None:
        """Where the file can be read by its path; None where it must be fetched."""

    def identity(self, name: str) -> Identity | None:
        """What is there now, whatever was listed before; None where no file is."""

    def digest(self, name: str) -> Digest:
        """Read the whole file, in pieces."""

    def fetch(self, name: str, path: Path) -> Digest:
        """Copy the file to this new path, in pieces; the folders of the path are made."""

    def publish(self, made: Path, name: str) -> Digest:
        """Let a file of this machine appear under the name, whole or not at all; `made` may be gone then."""

    def remove(self, name: str) -> None:
        """Take a file away, where there is one."""

    def read_text(self, name: str, most: int) -> str | None:
        """A small file's text; None where there is none, it has more than `most` bytes, or is no text."""

    def write_text(self, name: str, text: str) -> None:
        """Let a small text appear under the name, whole or not at all."""


def beginning(store: Store) -> str:
    """How the places of all files of a folder begin."""
    return store.place("x").removesuffix("x")


def checked(name: str) -> str:
    """The name again. Raises GraphfixError for one that would lead out of the folder."""
    if "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
        raise GraphfixError(f"{name!r}: no name for a file below a folder; rename the model, or leave it out")
    return name


def failed(error: Exception, place: str, what: str) -> OSError:
    """What is raised for an error of the system or of a store: the same kind, one line, with the place in it."""
    error, place = _reason(error, place), urls.shown(place)
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(f"{place}: {what}: no such file; look for it, or leave it out")
    text = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    why = urls.shown(" ".join(text.split()))
    if isinstance(error, PermissionError):
        return PermissionError(f"{place}: {what}: {why}; ask for the permission, or choose another place")
    return OSError(f"{place}: {what}: {why}; try again, or choose another place")


def _reason(error: Exception, place: str) -> Exception:
    """The error itself, or what it hides: fsspec says of whatever an HTTP server answers that there is no such file."""
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
    """Say of a system's error which file it is about. Raises OSError."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise failed(error, place, what) from None


def digest_of(path: Path, name: str) -> Digest:
    """Of a file of this machine, which is read in pieces. Raises OSError."""
    with reported(str(path), "can't be read"), _opened(path) as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return Digest(name, os.fstat(file.fileno()).st_size, sha256)


def _opened(path: Path) -> BufferedReader:
    """Open a file; a pipe or a device may have no end. Raises OSError."""
    if path.exists() and not path.is_file():
        raise OSError("it is no regular file")
    return path.open("rb")


def text_of(data: bytes, most: int) -> str | None:
    """The text; None where it is none, or longer than `most` bytes."""
    if len(data) > most:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None

"""A local folder as a store: files are published by renaming, and read where they are."""

from __future__ import annotations

import errno
import shutil
from dataclasses import dataclass
from pathlib import Path

from graphfix.batch.stores.store import Digest, Identity, checked, digest_of, reported, text_of
from graphfix.formats.neutral import publish


@dataclass(frozen=True, slots=True)
class Local:
    """A local folder."""

    folder: Path

    def place(self, name: str) -> str:
        """Return the path as text."""
        return str(self.folder / name)

    def local(self, name: str) -> Path:
        """Return the path."""
        return self.folder / name

    def identity(self, name: str) -> Identity | None:
        """Return the size of a file; None if there is none.

        A time stamp is not used, because equal ones do not prove equal bytes.
        """
        try:
            path = self.folder / name
            return Identity(path.stat().st_size) if path.is_file() else None
        except (OSError, ValueError):
            return None

    def digest(self, name: str) -> Digest:
        """Return the digest of a file. Raises OSError."""
        return digest_of(self.folder / name, name)

    def fetch(self, name: str, path: Path) -> Digest:
        """Copy a file to `path` and return its digest. Raises OSError."""
        with reported(self.place(name), "can't be read"):
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.folder / name, path)
        return digest_of(path, name)

    def publish(self, made: Path, name: str) -> Digest:
        """Rename a file to its final name, or copy it from another file system.

        It keeps the mode of the file that it replaces.
        """
        path = self.folder / checked(name)
        digest = digest_of(made, name)
        with reported(str(path), "can't be written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                publish.rename(made, path)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                with publish.scratch(path) as [copy]:
                    shutil.copyfile(made, copy)
                    publish.rename(copy, path)
        return digest

    def remove(self, name: str) -> None:
        """Remove a file, if it exists. Raises OSError."""
        path = self.folder / checked(name)
        with reported(str(path), "can't be removed"):
            path.unlink(missing_ok=True)

    def read_text(self, name: str, most: int) -> str | None:
        """Return a text; None if there is no file, or if it is too long or not a text.

        Raises OSError if it can't be read.
        """
        path = self.folder / name
        if self.identity(name) is None:
            return None
        with reported(str(path), "can't be read"), path.open("rb") as file:
            return text_of(file.read(most + 1), most)

    def write_text(self, name: str, text: str) -> None:
        """Write a text; it appears complete or not at all. Raises OSError."""
        path = self.folder / checked(name)
        with reported(str(path), "can't be written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            with publish.scratch(path) as [made]:
                made.write_text(text, encoding="utf-8", newline="\n")
                made.replace(path)

"""A folder of this machine as a store: what is published is renamed, and what can be read where it lies is."""

from __future__ import annotations

import errno
import shutil
from dataclasses import dataclass
from pathlib import Path

from graphfix.batch.stores.store import Digest, Identity, checked, digest_of, reported, text_of
from graphfix.formats.neutral import publish


@dataclass(frozen=True, slots=True)
class Local:
    """A folder of this machine."""

    folder: Path

    def place(self, name: str) -> str:
        """The path."""
        return str(self.folder / name)

    def local(self, name: str) -> Path:
        """The path: it can be read where it lies."""
        return self.folder / name

    def identity(self, name: str) -> Identity | None:
        """The size; a time stamp says nothing of the bytes."""
        try:
            path = self.folder / name
            return Identity(path.stat().st_size) if path.is_file() else None
        except (OSError, ValueError):
            return None

    def digest(self, name: str) -> Digest:
        """Read the file. Raises OSError."""
        return digest_of(self.folder / name, name)

    def fetch(self, name: str, path: Path) -> Digest:
        """Copy the file. Raises OSError."""
        with reported(self.place(name), "can't be read"):
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.folder / name, path)
        return digest_of(path, name)

    def publish(self, made: Path, name: str) -> Digest:
        """Rename the file, or copy it where it is on another file system; it gets the mode of what it replaces."""
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
        """Remove the file. Raises OSError."""
        path = self.folder / checked(name)
        with reported(str(path), "can't be removed"):
            path.unlink(missing_ok=True)

    def read_text(self, name: str, most: int) -> str | None:
        """Read the text. Raises OSError where there is a file that can't be read."""
        path = self.folder / name
        if self.identity(name) is None:
            return None
        with reported(str(path), "can't be read"), path.open("rb") as file:
            return text_of(file.read(most + 1), most)

    def write_text(self, name: str, text: str) -> None:
        """Write the text. Raises OSError."""
        path = self.folder / checked(name)
        with reported(str(path), "can't be written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            with publish.scratch(path) as [made]:
                made.write_text(text, encoding="utf-8", newline="\n")
                made.replace(path)

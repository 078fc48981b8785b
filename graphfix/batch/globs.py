"""Patterns of file names: `*` and `?` do not match a `/`, `**` does."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from graphfix.results import GraphfixError
from graphfix.results.records import dataclass

MAGIC = frozenset("*?[")
"""The characters that make a name a pattern."""


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern, and the folder to which it is relative; None: the working directory.

    A pattern without a `/` matches any folder or file of that name, and everything below a matching folder.
    """

    text: str
    folder: Path | None = None

    def under(self, folder: Path) -> Glob:
        """Return the same pattern, relative to another folder."""
        return replace(self, folder=folder)

    def names(self, path: Path) -> bool:
        """Return whether the pattern matches a file, or a folder above the file."""
        return self.names_parts(_from(path, self.folder))

    def names_parts(self, parts: Sequence[str]) -> bool:
        """Return whether the pattern matches a path that is given by its parts, relative to the pattern's folder."""
        if "/" not in self.text:
            return any(regex(self.text).fullmatch(part) for part in parts)
        pattern = regex(self.text.removeprefix("./").rstrip("/"))
        return any(pattern.fullmatch("/".join(parts[: last + 1])) for last in range(len(parts)))


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that selects the files to search for."""

    folder: Sequence[str]
    """The parts of the path before the first wildcard."""
    text: str
    """The rest of the pattern."""
    depth: int | None
    """The most folder levels below `folder` at which a matching file can be, from 1; None: any."""

    @classmethod
    def of(cls, source: object, parts: Sequence[str]) -> Pattern:
        """Return the pattern of a source with these parts. Raises GraphfixError for an invalid range of letters."""
        fixed = next(at for at, part in enumerate(parts) if is_pattern(part))
        text = "/".join(parts[fixed:])
        try:
            regex(text)
        except ValueError as error:
            raise GraphfixError(f"{source}: {error}; mend the pattern") from None
        return cls(parts[:fixed], text, None if "**" in text else len(parts) - fixed)

    @property
    def of_models(self) -> bool:
        """Return whether the pattern leaves the suffix open; then it selects only files with the suffix of a model."""
        return self.text.endswith("*")

    def matches(self, name: str) -> bool:
        """Return whether the pattern matches a file, given by its path below the folder."""
        return regex(self.text).fullmatch(name) is not None


def is_pattern(text: str) -> bool:
    """Return whether a name contains a wildcard."""
    return not MAGIC.isdisjoint(text)


@cache
def regex(pattern: str) -> re.Pattern[str]:
    """Return the regular expression for a pattern and paths with `/`.

    Raises ValueError for an invalid range of letters.
    """
    try:
        return re.compile("".join(_translated(pattern)), re.DOTALL)
    except re.error:
        raise ValueError("a bad range of letters between [ and ]") from None


def _translated(pattern: str) -> Iterator[str]:
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            yield "(?:[^/]+/)*"
            at += 3
            continue
        if pattern[at] == "*":
            end = at + 1
            while pattern.startswith("*", end):
                end += 1
            yield ".*" if end - at > 1 else "[^/]*"
            at = end
            continue
        letter, at = _letter(pattern, at)
        yield letter


def _letter(pattern: str, at: int) -> tuple[str, int]:
    """Return the regular expression for one character, `?`, or a class `[a-z]`, `[!a]`, and the position behind it.

    A `[` without a closing bracket stands for itself.
    """
    if pattern[at] == "?":
        return "[^/]", at + 1
    close = pattern.find("]", at + 2 + pattern.startswith("!", at + 1)) if pattern[at] == "[" else -1
    if close < 0:
        return re.escape(pattern[at]), at + 1
    inside = pattern[at + 1 : close]
    no, inside = ("^", inside[1:]) if inside.startswith("!") else ("", inside)
    escaped = re.sub(r"([\\\[\]^&~|])", r"\\\1", inside)
    return f"(?!/)[{no}{escaped}]", close + 1


def _from(path: Path, folder: Path | None) -> list[str]:
    """Return the parts of a path, relative to a folder."""
    try:
        relative = os.path.relpath(path, folder if folder is not None else os.curdir)
    except ValueError:  # on another drive
        relative = str(path.absolute())
    return Path(relative).as_posix().split("/")

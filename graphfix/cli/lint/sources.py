"""The models that `check` is asked about: files, what folders hold, and what patterns name; each once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from graphfix.cli import globs
from graphfix.cli.globs import Glob
from graphfix.results import GraphfixError

SUFFIXES = (".onnx", ".tflite")
"""What a folder is searched for."""


def models(sources: Sequence[Path], exclude: Sequence[Glob]) -> list[Path]:
    """The files, in the order of the sources, those of a folder or a pattern sorted by their parts.

    Raises GraphfixError for a folder without a model and for a pattern that names none.
    """
    found: dict[str, Path] = {}
    for source in sources:
        for path in _of(source, exclude):
            found.setdefault(_real(path), path)
    return list(found.values())


def _real(path: Path) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:  # a name that no file can have is refused where it is read
        return str(path)


def _of(source: Path, exclude: Sequence[Glob]) -> list[Path]:
    if source.is_dir():
        files, none = list(_searched(source, None)), "the folder has no model (.onnx or .tflite) in it"
    elif globs.is_pattern(str(source)) and not os.path.lexists(source):
        files, none = list(_named(source)), "the pattern names no model"
    else:
        return [source] if not _is_excluded(source, exclude) else []
    left = sorted((path for path in files if not _is_excluded(path, exclude)), key=lambda path: path.parts)
    if not left:
        why = f"all of the {len(files)} models here are excluded; mend --exclude" if files else f"{none}; name another"
        raise GraphfixError(f"{source}: {why}")
    return left


def _is_excluded(path: Path, exclude: Sequence[Glob]) -> bool:
    return any(pattern.names(path) for pattern in exclude)


def _named(pattern: Path) -> Iterator[Path]:
    """The files that a pattern names; where it does not say how they end, those that end as models do."""
    parts = pattern.parts
    fixed = next(at for at, part in enumerate(parts) if globs.is_pattern(part))
    folder = Path(*parts[:fixed])
    depth = None if any("**" in part for part in parts) else len(parts) - fixed
    try:
        matches = globs.regex("/".join(parts[fixed:])).fullmatch
    except ValueError as error:
        raise GraphfixError(f"{pattern}: {error}; mend the pattern") from None
    of_models = pattern.name.endswith("*")
    if folder.is_dir():
        for path in _searched(folder, depth, all_files=not of_models):
            if matches(path.relative_to(folder).as_posix()):
                yield path


def _searched(top: Path, depth: int | None, *, all_files: bool = False) -> Iterator[Path]:
    """The models below a folder, so many folders deep; what is hidden is left out.

    A folder is entered once: links to folders are followed last, where their folder was not met before.
    """
    folders, links, entered = [(top, 1)], list[tuple[Path, int]](), set[str]()
    while folders or links:
        folder, level = folders.pop(0) if folders else links.pop(0)
        real = os.path.realpath(folder)
        if real in entered:
            continue
        entered.add(real)
        for entry in _entries(folder):
            if entry.name.startswith("."):
                continue
            if _is_folder(entry):
                if depth is None or level < depth:
                    (links if entry.is_symlink() else folders).append((folder / entry.name, level + 1))
            elif all_files or entry.name.lower().endswith(SUFFIXES):
                yield folder / entry.name


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise GraphfixError(f"{folder}: the folder can't be read: {error.strerror}; leave it out") from None

"""Find the models on this machine: files, and the files of folders and patterns; each file once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from graphfix.batch import globs
from graphfix.batch.globs import Glob, Pattern
from graphfix.results import GraphfixError
from graphfix.results.files.file_kinds import folder_kind

SUFFIXES = (".onnx", ".tflite")
"""The suffixes of the files that are searched in a folder."""
NO_MODEL = "the folder has no model (.onnx or .tflite) in it"
NOT_NAMED = "the pattern names no model"


def models(sources: Sequence[Path], exclude: Sequence[Glob], outputs: Path | None = None) -> dict[Path, str]:
    """Return the files of the sources, each with its name, in the order of the sources.

    The files of a folder or a pattern are sorted by the parts of their paths. A file's name is its path relative to the
    folder, or to the first wildcard's place, with `/`; for a single file it is the file name. The folder `outputs` is
    not searched. Raises GraphfixError for a folder without a model and for a pattern that matches none.
    """
    found: dict[str, tuple[Path, str]] = {}
    for source in sources:
        for path, name in _of(source, exclude, outputs):
            found.setdefault(_real(path), (path, name))
    return dict(found.values())


def _real(path: Path) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:  # a name that no file can have is refused where it is read
        return str(path)


def _of(source: Path, exclude: Sequence[Glob], outputs: Path | None) -> list[tuple[Path, str]]:
    """Return the files of one source, and their names."""
    if source.is_dir():
        folder, files, none = source, list(_searched(source, None, outputs)), NO_MODEL
    elif globs.is_pattern(str(source)) and not os.path.lexists(source):
        pattern = Pattern.of(source, source.parts)
        folder, files, none = Path(*pattern.folder), list(_named(pattern, outputs)), NOT_NAMED
    else:
        return [(source, source.name)] if not _is_excluded(source, exclude) else []
    kind = folder_kind(source) if not files and source.is_dir() else None
    if kind is not None:
        raise GraphfixError(f"{source}: {kind}")
    left = sorted((path for path in files if not _is_excluded(path, exclude)), key=lambda path: path.parts)
    if not left:
        raise nothing(source, len(files), none)
    return [(path, path.relative_to(folder).as_posix()) for path in left]


def nothing(source: object, excluded: int, none: str) -> GraphfixError:
    """Return the error for a source without a remaining model.

    `excluded` is the number of excluded models; if it is 0, `none` is the reason.
    """
    why = f"all of the {excluded} models here are excluded; mend --exclude" if excluded else f"{none}; name another"
    return GraphfixError(f"{source}: {why}")


def _is_excluded(path: Path, exclude: Sequence[Glob]) -> bool:
    return any(pattern.names(path) for pattern in exclude)


def _named(pattern: Pattern, outputs: Path | None) -> Iterator[Path]:
    """Yield the files that a pattern matches."""
    folder = Path(*pattern.folder)
    if folder.is_dir():
        for path in _searched(folder, pattern.depth, outputs, all_files=not pattern.of_models):
            if pattern.matches(path.relative_to(folder).as_posix()):
                yield path


def _searched(top: Path, depth: int | None, outputs: Path | None, *, all_files: bool = False) -> Iterator[Path]:
    """Yield the models below a folder, at most `depth` levels deep; hidden files and folders are skipped.

    Each folder is entered once. Links to folders are followed last, if their target was not entered before.
    """
    folders, links = [(top, 1)], list[tuple[Path, int]]()
    entered = {os.path.realpath(outputs)} if outputs is not None else set[str]()
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

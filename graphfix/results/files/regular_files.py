"""Refuse arguments that are not the path of a regular file: other types, URLs, pipes, devices and open files."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from graphfix.results import GraphfixError
from graphfix.results.error_texts import shown

MOST_LINKS: Final = 40
"""The most symbolic links that are followed one after another; Linux has the same limit."""


def file_path(function: str, value: object) -> Path:
    """Return the path that an argument of a function names. Raises GraphfixError for any other argument."""
    if not isinstance(value, (str, os.PathLike)):
        raise GraphfixError(f"{function} takes the paths of files, not {type(value).__name__}")
    if fault := url_fault(os.fsdecode(value)):
        raise GraphfixError(f"{function}: {fault}")
    try:
        if b"\0" not in os.fsencode(value):
            return Path(value)
    except UnicodeEncodeError:
        pass
    raise GraphfixError(f"{function} takes the paths of files; no file has the name {shown(str(value))}")


def url_fault(text: str) -> str | None:
    """Return why a URL is not read or written, with advice; None for the path of a file."""
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text):
        return None
    return f"{text}: a URL, and this takes local files only; download the file, or use `graphfix batch`"


def refuse_pipe(path: Path, wanted: str) -> None:
    """Raise GraphfixError for a pipe or a device; the error asks for `wanted`. Raises OSError for a missing file.

    Call it before `open`, which would wait for the writer of a pipe.
    """
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        what = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise GraphfixError(f"{path}: this is {what}; give the path of {wanted}")


def refuse_stream(path: Path) -> None:
    """Raise GraphfixError for an output such as /dev/stdout, which the written file would replace on the machine."""
    if is_descriptor(path):
        raise GraphfixError(f"{path}: this is an open file of the process; choose another name")


def is_descriptor(path: Path) -> bool:
    """Return whether a path leads to an open file of this process, such as /dev/stdin or /dev/fd/63.

    In a child process the same path leads to another file.
    """
    for _ in range(MOST_LINKS):
        folder = os.path.realpath(path.parent)
        if folder == "/dev/fd" or re.fullmatch(r"/proc/\d+(/task/\d+)?/fd", folder):
            return True
        if not path.is_symlink():
            return False
        path = Path(folder, path.readlink())
    return False

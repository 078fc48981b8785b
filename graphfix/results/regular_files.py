"""Names that are no regular files: pipes and devices, which may never end, and open files of this process."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from graphfix.results import GraphfixError

MOST_LINKS: Final = 40
"""Symbolic links behind each other that are followed, as Linux does."""


def refuse_pipe(path: Path, wanted: str) -> None:
    """Raise GraphfixError for a pipe and a device where `wanted` is to be read; OSError where there is nothing.

    To open a pipe waits for its writer, so this is asked before.
    """
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        what = "a pipe" if stat.S_ISFIFO(mode) else "a device"
        raise GraphfixError(f"{path}: this is {what}; give the path of {wanted}")


def refuse_stream(path: Path) -> None:
    """Raise GraphfixError for an output such as /dev/stdout: a file would replace that name on the whole machine."""
    if is_descriptor(path):
        raise GraphfixError(f"{path}: this is an open file of the process; choose another name")


def is_descriptor(path: Path) -> bool:
    """Return whether a path leads to an open file of this process, such as /dev/stdin or /dev/fd/63.

    A child process has other files under the same name.
    """
    for _ in range(MOST_LINKS):
        folder = os.path.realpath(path.parent)
        if folder == "/dev/fd" or re.fullmatch(r"/proc/\d+(/task/\d+)?/fd", folder):
            return True
        if not path.is_symlink():
            return False
        path = Path(folder, path.readlink())
    return False

"""The streams: what is said on stderr, colours, the display of progress, and a stdout that takes nothing more."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import TextIO

from graphfix import report
from graphfix.engine.request import Progress
from graphfix.report import colour


def paint(asked: str, stream: TextIO) -> colour.Paint:
    """Colours for a stream, or none: `--color` decides, then NO_COLOR, then FORCE_COLOR, then whether it is a terminal.

    As no-color.org and force-color.org say, an empty variable says nothing.
    """
    if asked == "auto":
        environment = os.environ
        if environment.get("NO_COLOR"):
            asked = "never"
        elif environment.get("FORCE_COLOR"):
            asked = "always"
        else:
            asked = "always" if stream.isatty() and environment.get("TERM") != "dumb" else "never"
    return colour.coloured if asked == "always" else colour.plain


def width() -> int | None:
    """How many columns stdout has, None where it is no terminal: nothing is cut there."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def say(text: str, color: str = "auto") -> None:
    """One line on stderr."""
    print(f"{paint(color, sys.stderr)('graphfix:', 'bad')} {report.printable(text)}", file=sys.stderr)


@contextlib.contextmanager
def watched(options: Namespace) -> Iterator[Progress | None]:
    """One line of stderr that is written over and gone at the end; nothing unless a person watches."""
    if options.quiet or not sys.stderr.isatty():
        yield None
        return
    columns = shutil.get_terminal_size().columns - 1

    def progress(text: str) -> None:
        print(f"\r\x1b[2K{report.printable(text)[:columns]}", end="", file=sys.stderr, flush=True)

    try:
        yield progress
    finally:
        print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def drop_stdout() -> None:
    """Where stdout takes nothing more, let the interpreter's last flush go nowhere instead of failing."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""The streams: what is said on stderr, the line of progress, and a stdout that takes nothing more."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import traceback
from argparse import Namespace
from collections.abc import Iterator

from graphfix import report
from graphfix.engine.request import Progress
from graphfix.results import GraphfixError, RewriteError


def say(text: str) -> None:
    """One line on stderr."""
    print(f"graphfix: {report.printable(text)}", file=sys.stderr)


def trace(error: GraphfixError, options: Namespace) -> None:
    """With -v, what Python raised of a rewrite of the user's own: its author looks for the line."""
    if isinstance(error, RewriteError) and error.__cause__ is not None and getattr(options, "verbose", False):
        for line in "".join(traceback.format_exception(error.__cause__)).splitlines():
            print(report.printable(line), file=sys.stderr)


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

"""Measure the time of each step of a command, and add the file's name to an error of a step."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from graphfix.results import GraphfixError, RewriteError

Seconds = dict[str, float]
"""The time of each step, by its name."""


@contextlib.contextmanager
def timed(seconds: Seconds, step: str) -> Iterator[None]:
    """Store the time of a step in `seconds`, also if the step ends with an error."""
    started = time.perf_counter()
    try:
        yield
    finally:
        seconds[step] = round(time.perf_counter() - started, 6)


@contextlib.contextmanager
def with_path(path: Path) -> Iterator[None]:
    """Put the file's name in front of an error."""
    try:
        yield
    except GraphfixError as error:
        kind = RewriteError if isinstance(error, RewriteError) else GraphfixError
        raise kind(f"{path}: {error}") from error.__cause__

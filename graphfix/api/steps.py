"""The steps of a command: how long each takes, and the file that an error in one of them is about."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from graphfix.results import GraphfixError, RewriteError

Seconds = dict[str, float]
"""By step: how long it took."""


@contextlib.contextmanager
def timed(seconds: Seconds, step: str) -> Iterator[None]:
    """Enter how long a step took, also one that ends in an error."""
    started = time.perf_counter()
    try:
        yield
    finally:
        seconds[step] = round(time.perf_counter() - started, 6)


@contextlib.contextmanager
def with_path(path: Path) -> Iterator[None]:
    """Put the file's name in front of an error that does not have it."""
    try:
        yield
    except GraphfixError as error:
        kind = RewriteError if isinstance(error, RewriteError) else GraphfixError
        raise kind(f"{path}: {error}") from error.__cause__

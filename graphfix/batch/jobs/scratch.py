"""The folder of a batch's outputs while it is worked in: one batch at a time, and what a killed one left is removed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphfix.batch.stores.addresses import is_url, local_path
from graphfix.batch.stores.store import reported
from graphfix.results import GraphfixError

OWN = ".graphfix"
"""What graphfix keeps of a batch, below its outputs."""
LOCK = ".lock"
SCRATCH = ".scratch"
"""Hidden, as no folder of models is: records have the models' names."""


@contextmanager
def locked(output: str) -> Iterator[None]:
    """Make the folder, and hold it; nothing is done for a URL, which has no lock.

    The system lets go of the lock however the process ends. Raises GraphfixError where another batch holds it, where
    no folder can be, and on a system that is no POSIX system: sessions and locks are theirs.
    """
    if not hasattr(os, "fork"):
        raise GraphfixError("a batch needs Linux, macOS or another POSIX system: do the models one by one here")
    if is_url(output):
        yield
        return
    folder = local_path(output)
    own = folder / OWN
    try:
        own.mkdir(parents=True, exist_ok=True)
        lock = os.open(own / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise GraphfixError(f"{output}: no folder for results: {why}; choose another one") from None
    try:
        _take(lock, output)
        shutil.rmtree(own / SCRATCH, ignore_errors=True)
        try:
            yield
        finally:
            shutil.rmtree(own / SCRATCH, ignore_errors=True)
    finally:
        os.close(lock)


@contextmanager
def scratch(output: str) -> Iterator[Path]:
    """A new folder, on the file system of a local output; it is removed with all that is in it. Raises OSError."""
    parent = None if is_url(output) else local_path(output) / OWN / SCRATCH
    with reported(output, "no scratch folder can be made"):
        if parent is not None:
            parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix="graphfix-", dir=parent))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _take(lock: int, output: str) -> None:
    import fcntl  # of POSIX systems alone

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        why = "another batch writes there; wait for its end, or choose another folder"
        raise GraphfixError(f"{output}: {why}") from None
    except OSError as error:
        why = f"the folder can't be locked: {(error.strerror or str(error)).lower()}; choose one on a local disk"
        raise GraphfixError(f"{output}: {why}") from None

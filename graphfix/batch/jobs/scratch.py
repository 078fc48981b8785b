"""Lock the folder of a batch's outputs, and make scratch folders; those of a killed batch are removed."""

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
"""The folder below the outputs with graphfix's own files."""
LOCK = ".lock"
SCRATCH = ".scratch"
"""The name of the scratch folder. It is hidden, so that no model's record has the same name."""


@contextmanager
def locked(output: str) -> Iterator[None]:
    """Make the folder of the outputs and lock it inside this context; a URL has no lock.

    The system releases the lock whenever the process ends. Raises GraphfixError if another batch has the lock, if the
    folder can't be made, and on a system without POSIX sessions and locks.
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
    """Return a context with a new folder, on the file system of a local output; it is removed at the end.

    Raises OSError.
    """
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

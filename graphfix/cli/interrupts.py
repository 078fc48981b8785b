"""Handle Ctrl-C and `kill`: print one line about the files that were written, and return the exit status."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from graphfix.cli.status import INTERRUPTED, TERMINATED, Terminated

NOTHING = "nothing written"
Identity = tuple[int, int, int] | None
"""Device, inode and time of change of a file; None if the file does not exist."""


def report(stop: KeyboardInterrupt, color: str = "auto") -> int:
    """Print the line about an interrupt, and return the exit status.

    The interrupt's first argument is the text about written files. Without an argument nothing was written.
    """
    from graphfix.cli import terminal  # imported here because an interrupted `--help` has not needed it

    word, status = ("terminated", TERMINATED) if isinstance(stop, Terminated) else ("interrupted", INTERRUPTED)
    terminal.say(f"{word}; {stop.args[0] if stop.args else NOTHING}", color)
    return status


@contextmanager
def accounted(options: Namespace) -> Iterator[None]:
    """Catch an interrupt of the body, and raise it again with a text: which of the command's files were written.

    A finished file is renamed to its final name. A file was therefore written if its name leads to another inode than
    before.
    """
    before = {path: _identity(path) for path in _files(options)}
    try:
        yield
    except KeyboardInterrupt as stop:
        if stop.args:
            raise
        raise type(stop)(_account(before)) from None


def _files(options: Namespace) -> Sequence[Path]:
    """Return the files that the command may write, in the order in which it writes them."""
    if options.command == "batch":  # it says itself what it has written
        return ()
    output = getattr(options, "output", None)
    if output is None and getattr(options, "in_place", False):
        output = options.model
    made = [] if output is None or str(output) == "-" else [Path(output)]
    if options.command == "tosa":
        made = [path.with_suffix(".mlirbc") for path in made] + made
    baseline = getattr(options, "write_baseline", None)
    return [*made, *([] if baseline is None else [Path(baseline)]), *map(Path, getattr(options, "report", ()))]


def _identity(path: Path) -> Identity:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _account(before: Mapping[Path, Identity]) -> str:
    """Return `nothing written`, or `f.onnx is written, r.html is not`."""
    written = [str(path) for path, identity in before.items() if _identity(path) not in (None, identity)]
    if not written:
        return NOTHING
    missing = [str(path) for path in before if str(path) not in written]
    return _are(written, "written") + (f", {_are(missing, 'not')}" if missing else "")


def _are(names: Sequence[str], state: str) -> str:
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} {state}"

"""Describe unexpected exceptions by one line and a traceback, for the command line, batches and child processes."""

from __future__ import annotations

import traceback
from pathlib import Path

from graphfix.results.installation import ROOT
from graphfix.results.records import dataclass, field

LONGEST = 300
"""The most characters of an exception's text that the line shows."""
_PACKAGES = (ROOT / "graphfix", ROOT / "rewrites")


@dataclass(frozen=True, slots=True)
class Fault:
    """An unexpected exception as plain data, which a child process can send to its parent."""

    place: str
    """File and line, such as `graphfix/checker/runs/budget.py:17`: the innermost ones of graphfix in a traceback."""
    error: str
    """The exception's type and text on one line: `ValueError: array is too big`."""
    trace: str = field(repr=False, compare=False)
    """Python's traceback."""

    @classmethod
    def of(cls, error: BaseException) -> Fault:
        """Return the fault for an exception; for an InternalError, return the fault of the child process."""
        if isinstance(error, InternalError):
            return error.fault
        text = " ".join(str(error).split())
        text = text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
        error_text = f"{type(error).__name__}: {text}" if text else type(error).__name__
        return cls(_place(error), error_text, "".join(traceback.format_exception(error)))

    @property
    def line(self) -> str:
        """Return the line that users read."""
        return f"internal error in {self.place}: {self.error}; please report it, -v shows the traceback"


class InternalError(Exception):
    """An unexpected exception in a child process of graphfix, raised in the parent process."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault

    def __str__(self) -> str:
        """Return the line that users read."""
        return self.fault.line


def _place(error: BaseException) -> str:
    """Return the innermost file and line of graphfix in a traceback; without one, the innermost of all files.

    A file of another package that graphfix calls tells little about the cause.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if any(map(Path(frame.filename).is_relative_to, _PACKAGES))]
    if not frames:
        return "an unknown place"
    last = (own or frames)[-1]
    file = Path(last.filename)
    return f"{file.relative_to(ROOT).as_posix() if own else file.name}:{last.lineno}"

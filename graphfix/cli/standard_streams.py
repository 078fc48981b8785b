"""Repair the standard streams, so that a closed stream or a full stderr stops no command. `__main__` calls it first."""

from __future__ import annotations

import io
import os
import sys


def repair() -> None:
    """Open the null device for closed standard streams, and make stderr drop bytes that can't be written.

    A closed stdout is not an error, because the exit status is an answer too. The null device gets the number of the
    closed stream. Without it the next opened file would get that number, and printed text would be written into that
    file.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number is this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - open for the whole process
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    # Without a BufferedWriter: that one writes a line again if a signal's exception interrupts `write` at its end.
    raw = _NeverFailing(2, "w", closefd=False)
    sys.stderr = io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace", line_buffering=True)


class _NeverFailing(io.FileIO):
    """A file that drops the bytes which the system refuses to write, so that `write` never raises."""

    def write(self, data: object, /) -> int:
        """Write or drop the bytes; return the number of bytes that were written or dropped."""
        try:
            return super().write(data)  # type: ignore[arg-type]  # any buffer, as FileIO takes it
        except OSError:
            return len(memoryview(data))  # type: ignore[arg-type]  # any buffer

"""The standard streams of the process: one that is closed, and a stderr that takes nothing, stop no command."""

from __future__ import annotations

import io
import os
import sys


def repair() -> None:
    """Open the null device in place of closed standard streams, and let stderr drop what can't be written.

    A closed stdout is no reason to fail: the exit status is an answer too. The next file that is opened would get the
    number of a closed stream, and what is printed would be written into that file.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number is this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - likewise
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    raw = io.BufferedWriter(_NeverFailing(2, "w", closefd=False))
    sys.stderr = io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace", line_buffering=True)


class _NeverFailing(io.FileIO):
    """A file whose writes never fail: what the system refuses is dropped."""

    def write(self, data: object, /) -> int:
        """Write, or drop; return how many bytes are done with."""
        try:
            return super().write(data)  # type: ignore[arg-type]  # any buffer, as FileIO takes it
        except OSError:
            return len(memoryview(data))  # type: ignore[arg-type]  # likewise

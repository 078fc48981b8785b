"""The process of a command: parse what is asked, run the command, end with the status that says the answer."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from graphfix.cli import parser
from graphfix.cli.status import INTERRUPTED, TERMINATED


class Terminated(KeyboardInterrupt):
    """What `kill` asks: an interrupt with a status of its own, which no code that is run takes for an error."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status (`cli.status`).

    What carries it out is imported where something is to be carried out: `--help` shall cost nothing.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal can't show is no reason to stop
    words = sys.argv[1:] if argv is None else argv
    try:
        said = parser.said(words)
        from graphfix.cli import running

        return running.run(said)
    except Terminated:
        return TERMINATED
    except KeyboardInterrupt:
        return INTERRUPTED

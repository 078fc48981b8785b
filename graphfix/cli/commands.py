"""The entry point of the command line: parse it, run the command, and return the exit status."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from graphfix.cli import parser
from graphfix.cli.status import FAILED


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
    except KeyboardInterrupt as stop:  # before the command began
        from graphfix.cli import interrupts

        return interrupts.report(stop)
    except OSError as error:
        from graphfix.cli import terminal  # imported here because its imports take time that --help need not spend

        return terminal.report_system_error(error)
    except Exception as error:  # noqa: BLE001 - Python's own status of a traceback is 1, which is an answer here
        return _report_fault(error, verbose=not {"-v", "--verbose"}.isdisjoint(words))


def _report_fault(error: Exception, *, verbose: bool) -> int:
    """Print an unexpected exception as one line, after its traceback if `verbose`; return the exit status."""
    from graphfix.cli import terminal
    from graphfix.results.faults import Fault

    fault = Fault.of(error)
    if verbose:
        terminal.print_trace(fault.trace)
    terminal.drop_stdout()
    terminal.say(fault.line)
    return FAILED

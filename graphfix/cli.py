"""The command line: ask the Python face, print the answer on stdout, end with the status that says it."""

from __future__ import annotations

import argparse
import functools
import io
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from graphfix import arguments, report
from graphfix.results import GraphfixError, Outcome, Verdict

DONE, NO, FAILED, UNDECIDED = 0, 1, 2, 3
INTERRUPTED = 130
PIPE_CLOSED = 141
"""What a shell says of a program that the closed end of a pipe has ended."""
WORST = (DONE, NO, UNDECIDED, FAILED)
"""Of several models the last of these decides."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status: 0 done, 1 the answer is no, 2 it could not be done, 3 not decided."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal can't show is no reason to stop
    options = arguments.parser().parse_args(argv)
    try:
        status = COMMANDS[options.command](options)
        sys.stdout.flush()
    except GraphfixError as error:
        _say(str(error))
    except BrokenPipeError:
        _close_stdout()
        return PIPE_CLOSED
    except OSError as error:
        _close_stdout()
        _say(f"{error.filename or 'stdout'}: {error.strerror}")
    except KeyboardInterrupt:
        return INTERRUPTED
    else:
        return status
    return FAILED


def _fix(options: argparse.Namespace) -> int:
    from graphfix import api

    output = options.output or (options.model if options.in_place else None)
    if output is None:
        raise GraphfixError("fix: say where the result goes: -o OUT, or --in-place; see graphfix fix --help")
    _refuse_reports(options)
    with _Progress(options) as progress:
        outcome = _asked(
            options,
            options.model,
            lambda: api.fix_file(
                options.model,
                output,
                **_choices(options),
                keep_fusions=options.keep_fusions,
                check_result=not options.no_verify,
                runs=options.runs,
                seed=options.seed,
                in_place=options.in_place,
                progress=progress,
            ),
        )
    return 0

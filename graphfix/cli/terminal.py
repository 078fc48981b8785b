"""Streams of the command line: lines on stderr, colours, the display of progress, and a stdout that was closed."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from typing import TextIO

from graphfix.cli.slow_phases import SlowPhases
from graphfix.cli.status import FAILED, PIPE_CLOSED
from graphfix.report import colour
from graphfix.report.text import printable
from graphfix.results import GraphfixError, RewriteError
from graphfix.results.progress import Progress
from graphfix.results.run_facts import RunFacts
from graphfix.version import VERSION

PACKAGES = ("numpy", "onnx", "onnxruntime", "flatbuffers", "tflite", "ai-edge-litert")
"""The packages that read and run models."""


def paint(asked: str, stream: TextIO) -> colour.Paint:
    """Return the function that colours text for a stream.

    `--color` decides, then NO_COLOR, then FORCE_COLOR, then whether the stream is a terminal. As no-color.org and
    force-color.org specify, an empty variable has no effect.
    """
    if asked == "auto":
        environment = os.environ
        if environment.get("NO_COLOR"):
            asked = "never"
        elif environment.get("FORCE_COLOR"):
            asked = "always"
        else:
            asked = "always" if stream.isatty() and environment.get("TERM") != "dumb" else "never"
    return colour.coloured if asked == "always" else colour.plain


def width() -> int | None:
    """Return the columns of stdout; None if stdout is not a terminal, where nothing is cut."""
    if not sys.stdout.isatty():
        return None
    from shutil import get_terminal_size

    return get_terminal_size().columns


def say(text: str, color: str = "auto", style: colour.Style = "bad") -> None:
    """Print one line on stderr: an error, or in another style a note."""
    print(f"{paint(color, sys.stderr)('graphfix:', style)} {printable(text)}", file=sys.stderr)


def report_system_error(error: OSError, color: str = "auto") -> int:
    """Print an error of the operating system, except a closed pipe; return the exit status."""
    drop_stdout()
    if isinstance(error, BrokenPipeError):
        return PIPE_CLOSED
    say(f"{error.filename or 'stdout'}: {error.strerror}" if error.strerror else str(error), color)
    return FAILED


def trace(error: Exception, options: Namespace) -> None:
    """Print the traceback of a fault of graphfix, or of a rewrite that the user wrote, if -v is set."""
    cause = error.__cause__ if isinstance(error, RewriteError) else error
    if not options.verbose or cause is None or isinstance(cause, GraphfixError):
        return
    from graphfix.results.faults import Fault

    print_trace(Fault.of(cause).trace)


def print_trace(trace: str) -> None:
    """Print a traceback on stderr, each line in printable characters."""
    for line in trace.splitlines():
        print(printable(line), file=sys.stderr)


@contextlib.contextmanager
def lines(shown: Progress | None) -> Iterator[None]:
    """Return a context for printing lines while a progress bar is shown."""
    from graphfix.cli import progress

    with shown.aside() if isinstance(shown, progress.Bar) else contextlib.nullcontext():
        yield
        sys.stdout.flush()


@contextlib.contextmanager
def watched(options: Namespace, model: str) -> Iterator[Progress | None]:
    """Show the progress of a command: a line for each step with -v, a bar on a terminal, else a line for a long phase.

    With -q nothing is printed.
    """
    if options.quiet and not options.verbose:
        yield None
        return
    if is_unwatched(options):
        with SlowPhases(model, getattr(options, "command", "")) as phases:
            yield phases
        return
    from graphfix.cli import progress

    if options.verbose:
        with progress.lines_of_progress(time.monotonic()) as progress_lines:
            yield progress_lines
    else:
        with progress.shown(model, color=paint(options.color, sys.stderr) is colour.coloured) as shown:
            yield shown


def is_unwatched(options: Namespace) -> bool:
    """Return whether long phases get a line each: no bar can be drawn, and neither -v nor -q is set."""
    spoken = options.verbose or options.quiet
    return not spoken and (not sys.stderr.isatty() or os.environ.get("TERM") == "dumb")


@contextlib.contextmanager
def one_phase(options: Namespace, subject: str, phase: str) -> Iterator[None]:
    """Print one line if the body takes long and no bar is drawn."""
    if not is_unwatched(options):
        yield
        return
    with SlowPhases(subject) as phases:
        phases(phase)
        yield


def versions() -> dict[str, str]:
    """Return the versions of graphfix, Python and the installed ones of PACKAGES, by name."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"graphfix": VERSION, "Python": sys.version.split(maxsplit=1)[0]}
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def run_facts() -> RunFacts:
    """Return the facts about this process for the head of an HTML report."""
    import re
    import shlex
    from datetime import datetime

    words = [re.sub(r"(?<=://)[^/@\s]+@", "***@", word) for word in sys.argv[1:]]
    now = datetime.now().astimezone()
    return RunFacts(shlex.join(["graphfix", *words]), f"{now:%Y-%m-%d %H:%M} {now.tzname()}", versions())


def drop_stdout() -> None:
    """Redirect stdout to the null device if it can't be written, so that the interpreter's last flush does not fail."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

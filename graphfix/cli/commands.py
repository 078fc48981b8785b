"""The process of a command: parse what is asked, run the command, end with the status that says the answer."""

from __future__ import annotations

import io
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from graphfix import report
from graphfix.cli import answers, checking, configuration, parser, settings, terminal
from graphfix.cli.requests import request
from graphfix.cli.status import DONE, FAILED, INTERRUPTED, PIPE_CLOSED
from graphfix.results import GraphfixError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its status: 0 done, 1 the answer is no, 2 it could not be done, 3 not decided."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal can't show is no reason to stop
    options = Namespace()
    options = Namespace()  # what was asked is not known yet
    try:
        asked = settings.parsed(parser.parser(), argv)
        options = asked.of(asked.model)
        status = COMMANDS[options.command](options)
        sys.stdout.flush()
    except GraphfixError as error:
        terminal.say(str(error))
        terminal.trace(error, options)
        return FAILED
    except BrokenPipeError:
        terminal.drop_stdout()
        return PIPE_CLOSED
    except OSError as error:
        terminal.drop_stdout()
        terminal.say(f"{error.filename or 'stdout'}: {error.strerror}")
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


def _show(options: Namespace) -> int:
    from graphfix.api import pipeline

    lines = pipeline.show(
        options.model, request(options, None), maps=options.maps, broadcasts_only=options.broadcasts_only
    )
    for line in lines:
        print(report.printable(line))
    return DONE


def _explain(options: Namespace) -> int:
    from graphfix import api

    print(api.explain(options.topic or "", target_file=options.target_file, rewrites=options.rewrites).rstrip("\n"))
    return DONE


def _doctor(options: Namespace) -> int:
    from graphfix.cli import doctor

    return doctor.examine(options)


COMMANDS: Mapping[str, Callable[[Namespace], int]] = MappingProxyType(
    {
        **dict.fromkeys(answers.ASKS, answers.answer),
        "check": checking.answer,
        "show": _show,
        "explain": _explain,
        "config": configuration.answer,
        "doctor": _doctor,
    }
)

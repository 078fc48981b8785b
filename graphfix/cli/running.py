"""Run a parsed command: an error becomes one line on stderr and an exit status."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from graphfix.cli import answers, interrupts, streams, terminal
from graphfix.cli.configuration import settings
from graphfix.cli.options import Whole
from graphfix.cli.parser import Said
from graphfix.cli.requests import request
from graphfix.cli.status import DONE, FAILED, NO
from graphfix.results import GraphfixError


def run(said: Said) -> int:
    """Run the command with its options and those of the configuration; return the exit status."""
    options = Namespace(color=said.given.get("color", "auto"), verbose=False)
    try:
        asked = settings.in_force(said)
        options = asked.of(asked.model)
        if options.verbose:
            _say_what_is_in_force(options)
        with interrupts.accounted(options):
            status = COMMANDS[options.command](options)
            sys.stdout.flush()
    except GraphfixError as error:
        terminal.say(str(error), options.color)
        terminal.trace(error, options)
        return FAILED
    except OSError as error:
        return terminal.report_system_error(error, options.color)
    except KeyboardInterrupt as stop:
        return interrupts.report(stop, options.color)
    return status


def _say_what_is_in_force(options: Namespace) -> None:
    versions = ", ".join(f"{name} {version}" for name, version in terminal.versions().items())
    terminal.say(versions, options.color, "aside")
    file = options.settings.file
    terminal.say(f"configuration: {file}" if file is not None else "no configuration file", options.color, "aside")


def _batch(options: Namespace) -> int:
    from graphfix.cli.batch import command

    return command.answer(options)


def _check(options: Namespace) -> int:
    from graphfix.cli.lint import command

    return command.answer(options)


def _config(options: Namespace) -> int:
    from graphfix.cli.configuration import command

    return command.answer(options)


def _show(options: Namespace) -> int:
    from graphfix.api import pipeline
    from graphfix.engine.extracts.selection import NodeSelection
    from graphfix.report.listing import listing_lines

    around = options.around and (options.around[0], _edges(*options.around))
    selection = NodeSelection(options.maps, options.broadcasts_only, options.nodes, around, options.graphs)
    with (
        streams.opened(options, "model") as opened,
        terminal.watched(options, options.model.name) as progress,
    ):
        ask = opened.refusing_data_files(pipeline.show, [options.model])
        listing = ask(options.model, request(options, progress), selection)
    if not options.quiet:
        for line in listing_lines(listing, width=terminal.width(), paint=terminal.paint(options.color, sys.stdout)):
            print(line)
    return DONE


def _edges(node: str, number: str) -> int:
    try:
        return Whole(0)(number)
    except ArgumentTypeError as error:
        raise GraphfixError(f"--around {node}: {error}") from None


def _explain(options: Namespace) -> int:
    from graphfix import api

    text = api.explain(options.topic or "", target_file=options.target_file, rewrites=options.rewrites).rstrip("\n")
    if not options.quiet:
        print(text)
    return DONE


def _doctor(options: Namespace) -> int:
    """Print the results of `doctor`. The status is NO if a required runtime or package does not work."""
    from graphfix.report.doctor import environment_json, environment_text
    from graphfix.runtimes import doctor

    with terminal.watched(options, "doctor") as progress:
        environment = doctor.examine(progress)
    if not options.quiet:
        text = environment_json(environment) if options.json else environment_text(environment)
        print(text, end="\n" * (not options.json))
    return DONE if environment.works else NO


def _completion(options: Namespace) -> int:
    text = completion_script(options.shell)
    if not options.quiet:
        print(text)
    return DONE


def completion_script(shell: str) -> str:
    """Return shtab's script that completes command lines in bash, zsh or fish.

    It completes commands, options, their choices, and files. Raises GraphfixError if shtab is not installed.
    """
    from graphfix.cli.options import file_or_stream, new_file
    from graphfix.cli.parser import commands_of, parser
    from graphfix.report import pages
    from graphfix.targets import registry

    try:
        import shtab
    except ImportError:
        raise GraphfixError("completion needs the package shtab: pip install shtab") from None
    full_parser = parser()
    every = (full_parser, *commands_of(full_parser).values())
    for action in (action for command in every for action in command._actions):  # noqa: SLF001  # argparse lists them nowhere else
        if action.help:
            action.help = re.split(r"[:;(]", action.help)[0].strip()  # shells show it beside each word
        if action.type in (Path, file_or_stream, new_file):
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # shtab reads it from the parser
        if action.dest in ("only", "skip"):
            action.choices = registry.REWRITES
        if action.dest == "topic":
            action.choices = (*registry.REWRITES, *registry.TARGETS, *pages.codes())
    text: str = shtab.complete(full_parser, shell)
    return text.rstrip("\n")


COMMANDS: Mapping[str, Callable[[Namespace], int]] = MappingProxyType(
    {
        **dict.fromkeys(answers.ASKS, answers.answer),
        "check": _check,
        "batch": _batch,
        "show": _show,
        "explain": _explain,
        "config": _config,
        "doctor": _doctor,
        "completion": _completion,
    }
)

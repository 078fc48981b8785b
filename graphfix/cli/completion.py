"""What completes command lines in a shell: commands, options, their choices, and files; the script is shtab's."""

from __future__ import annotations

import re
from pathlib import Path

from graphfix.cli import options, parser
from graphfix.report import pages
from graphfix.results import GraphfixError
from graphfix.targets import registry


def script(shell: str) -> str:
    """The script for bash, zsh or fish. Raises GraphfixError where shtab is not installed."""
    try:
        import shtab
    except ImportError:
        raise GraphfixError("completion needs the package shtab: pip install shtab") from None
    whole = parser.parser()
    every = (whole, *parser.commands_of(whole).values())
    for action in (action for command in every for action in command._actions):  # noqa: SLF001  # argparse lists them nowhere else
        if action.help:
            action.help = re.split(r"[:;(]", action.help)[0].strip()  # shells show it beside each word
        if action.type in (Path, options.file_or_stream, options.new_file):
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # shtab reads it from the parser
        if action.dest in ("only", "skip"):
            action.choices = registry.REWRITES
        if action.dest == "topic":
            action.choices = (*registry.REWRITES, *registry.TARGETS, *pages.codes())
    text: str = shtab.complete(whole, shell)
    return text.rstrip("\n")

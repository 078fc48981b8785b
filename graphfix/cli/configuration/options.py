"""The options that locate the configuration, and those of other commands that `config` borrows."""

from __future__ import annotations

import argparse
import copy

from graphfix.cli.options import Parser, read_path


def configured(command: Parser) -> None:
    """Add the options that locate the configuration file."""
    group = command.add_argument_group("configuration")
    either = group.add_mutually_exclusive_group()
    what = "read options from FILE, not the nearest graphfix.toml or pyproject.toml"
    either.add_argument("--config", metavar="FILE", type=read_path, help=what)
    either.add_argument("--isolated", action="store_true", help="read no configuration file")


def borrow(command: Parser, other: Parser) -> None:
    """Add each option of another command that `command` lacks, without a line in its help."""
    own = command._option_string_actions  # noqa: SLF001  # argparse shows its options nowhere else
    for action in other._actions:  # noqa: SLF001
        names = [name for name in action.option_strings if name not in own]
        if any(name.startswith("--") for name in names):
            borrowed = copy.copy(action)
            borrowed.option_strings, borrowed.required, borrowed.help = names, False, argparse.SUPPRESS
            command._add_action(borrowed)  # noqa: SLF001

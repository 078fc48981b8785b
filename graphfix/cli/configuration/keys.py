"""The keys of a configuration file: the long options of the parser, with the types of their values."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from graphfix.batch.globs import Glob
from graphfix.cli.batch.options import duration, size
from graphfix.cli.options import Parser, Whole, tolerance
from graphfix.engine.request import Request
from graphfix.results.error_texts import hint, shown

Options: TypeAlias = Mapping[str, argparse.Action]
"""A command's options by their long names, without `--`."""
NO_KEYS = frozenset({"help", "config", "isolated", "around"})
"""Options that a file can't set: they end a command line, locate the configuration, or have two values."""
SAID_EACH_TIME = frozenset({"output", "in-place", "write-baseline"})
"""Options that replace files. They must be given on the command line."""
COMMAND_LINE_ONLY: Mapping[str, frozenset[str]] = MappingProxyType({"fix": frozenset({"exit-zero"})})
"""By command: options that a configuration file can't set for this command, although other commands allow them."""
OF_A_FILE = frozenset({each.name for each in fields(Request) if each.init} | {"select", "ignore"}) - {"report"}
"""Options that may differ between models, by their names in a namespace."""
LOUDNESS = frozenset({"quiet", "verbose"})
"""Options that exclude each other, although argparse has them in other groups."""
KINDS: Mapping[object, tuple[tuple[type, ...], str]] = MappingProxyType(
    {
        Whole: ((int,), "a whole number"),
        tolerance: ((int, float), "a number"),
        duration: ((int, float), "a number of seconds"),
        size: ((int, str), "a size, a text such as '2GiB' or a number of bytes"),
    }
)
"""By the type of an option: the types of its value in TOML, and the words for an error. Other options are texts."""


def options(command: Parser) -> Options:
    """Return a command's options for a configuration file, and those that must be on the command line."""
    actions = {_name(action): action for action in command._actions}  # noqa: SLF001  # argparse shows them nowhere else
    without = NO_KEYS | COMMAND_LINE_ONLY.get(command.prog.rpartition(" ")[2], frozenset())
    return {name: action for name, action in actions.items() if name and name not in without}


def alone(command: Parser) -> list[frozenset[str]]:
    """Return groups of options, by their names in a namespace, that exclude each other."""
    groups = command._mutually_exclusive_groups  # noqa: SLF001
    return [LOUDNESS, *(frozenset(action.dest for action in group._group_actions) for group in groups)]  # noqa: SLF001


def _name(action: argparse.Action) -> str:
    return next((name[2:] for name in action.option_strings if name.startswith("--")), "")


def actions_of(key: str, commands: Collection[Options]) -> list[argparse.Action]:
    """Return the options of this name, one for each command that has it. Raises ValueError if there is none."""
    if key in SAID_EACH_TIME:
        raise ValueError(f"'{key}' replaces files, so only the command line may have it: --{key}")
    found = [command[key] for command in commands if key in command]
    if not found:
        names = sorted({name for command in commands for name in command} - SAID_EACH_TIME)
        raise ValueError(f"{shown(key)} is not an option{hint(key, names, '; `graphfix config` lists them')}")
    return found


def value(key: str, action: argparse.Action, said: object, folder: Path) -> object:
    """Return the value of an option for a value in a file of `folder`; relative paths are resolved against `folder`.

    Raises ValueError with a text about the expected value.
    """
    if action.nargs == 0:
        if type(said) is not bool:
            raise ValueError(f"'{key}' is true or false, not {shown(said)}")
        if isinstance(action, argparse.BooleanOptionalAction):
            return said
        return action.const if said else None
    if not is_repeatable(action):
        return _converted(key, action, said, folder)
    if isinstance(said, list):
        return [_converted(key, action, each, folder) for each in said]
    raise ValueError(f"'{key}' is a list, such as [{_example(said)}], not {shown(said)}")


def is_repeatable(action: argparse.Action) -> bool:
    """Return whether an option may be given several times, so that its value is a list."""
    return isinstance(action, argparse._AppendAction)  # noqa: SLF001


def _example(said: object) -> str:
    return shown(said) if isinstance(said, str) else '".."'


def _converted(key: str, action: argparse.Action, said: object, folder: Path) -> object:
    kind = type(action.type) if isinstance(action.type, Whole) else action.type
    types, what = KINDS.get(kind, ((str,), "a text"))
    if type(said) not in types or "\0" in str(said):
        raise ValueError(f"'{key}' is {'of texts' if is_repeatable(action) else what}, not {shown(said)}")
    try:
        made = _typed(action.type, str(said))
    except (argparse.ArgumentTypeError, ValueError) as error:
        raise ValueError(f"'{key}': {error}") from None
    if action.choices is not None and made not in action.choices:
        offered = [str(each) for each in action.choices]
        how = hint(str(said), offered, f"; known: {', '.join(offered)}")
        raise ValueError(f"'{key}': {shown(said)} is unknown{how}")
    return _from(folder, made)


def _typed(convert: Callable[[str], Any] | argparse.FileType | str | None, text: str) -> object:
    return convert(text) if callable(convert) else text


def _from(folder: Path, made: object) -> object:
    """Return a value with relative paths resolved against the folder of the file that contains it."""
    match made:
        case Path():
            return folder / made
        case Glob():
            return made.under(folder)
    return made


def unset_default(action: argparse.Action) -> str:
    """Return the effect of an option that nobody sets and that has no value then, as its help describes it."""
    match = re.search(r"\(default:? (.+?)\)", action.help or "")
    return match[1] if match else "not set"


def text(action: argparse.Action, made: object) -> object:
    """Return a value as a configuration file contains it; None without a value.

    It is true, a number, a text, or a list of texts.
    """
    if isinstance(action, argparse.BooleanOptionalAction):  # its default is a third state
        return made
    if action.nargs == 0:
        return bool(made == action.const)
    if isinstance(made, list):
        return [_one(each) for each in made]
    return _one(made) if made is not None else [] if is_repeatable(action) else None


def _one(made: object) -> object:
    match made:
        case Path():
            return made.as_posix()
        case Glob() | bool() | int() | float():
            return made.text if isinstance(made, Glob) else made
        case tuple():
            return "=".join(made)
    return str(made)

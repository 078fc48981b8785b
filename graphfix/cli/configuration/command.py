"""The command `config`: print the value and the origin of each option, for all models or for one."""

from __future__ import annotations

import argparse
import json
from argparse import Namespace
from collections.abc import Iterable, Mapping

from graphfix.cli import parser
from graphfix.cli.configuration import keys
from graphfix.cli.configuration.settings import DEFAULT, Settings
from graphfix.cli.status import DONE
from graphfix.report.text import printable

SCHEMA = 1


def answer(options: Namespace) -> int:
    """Print the options as a table of TOML, or as one JSON document."""
    settings: Settings = options.settings
    rows = _rows(settings, options)
    file = str(settings.file) if settings.file is not None else None
    effects = _effects(name for name, (value, _) in rows.items() if value is None)
    if options.json:
        listed = {
            name: {"value": value, "origin": origin, **({"effect": effects[name]} if name in effects else {})}
            for name, (value, origin) in rows.items()
        }
        path = str(options.path) if options.path is not None else None
        print(json.dumps({"schema": SCHEMA, "file": file, "model": path, "options": listed}, indent=2))
        return DONE
    said = {name: row for name, row in rows.items() if row[1] != DEFAULT}
    print(f"# {printable(file)}" if file is not None else "# no configuration file")
    _print(said)
    if said:
        print()
    unsaid = {
        name: (value, f"{origin}: {effects[name]}" if name in effects else origin)
        for name, (value, origin) in rows.items()
        if name not in said
    }
    _print(unsaid)
    return DONE


def _rows(settings: Settings, options: Namespace) -> Mapping[str, tuple[object, str]]:
    """Return by option its value, as TOML has it, and its origin."""
    rows = {}
    for name, (value, origin) in sorted(settings.origins(options.path).items()):
        if name not in keys.SAID_EACH_TIME:
            of_file = origin if origin in (DEFAULT, "command line") or "override" in origin else f"{origin}: {name}"
            rows[name] = (keys.text(settings.actions[name], value), of_file)
    return rows


def _effects(names: Iterable[str]) -> Mapping[str, str]:
    """Return the effect of each option without a value, as the help of a command describes it."""
    actions: dict[str, argparse.Action] = {}
    for command in parser.commands_of(parser.parser()).values():
        for name, action in keys.options(command).items():
            if action.help != argparse.SUPPRESS:
                actions.setdefault(name, action)
    return {name: keys.unset_default(actions[name]) for name in names}


def _print(rows: Mapping[str, tuple[object, str]]) -> None:
    """Print lines of TOML with the origins as comments; an option without a value is a comment itself."""
    lines = [  # TOML writes these values as JSON does
        (f"{name} = {json.dumps(value, ensure_ascii=False)}" if value is not None else f"# {name}", origin)
        for name, (value, origin) in rows.items()
    ]
    width = max((len(line) for line, _ in lines), default=0)
    for line, origin in lines:
        print(printable(f"{line.ljust(width)}  # {origin}"))

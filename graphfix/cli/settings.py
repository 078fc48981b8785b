"""What is in force: what the options are where nobody says them, what files say, and what the command line says."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfix.cli.options import Parser

if TYPE_CHECKING:
    from graphfix.cli.config_file import Layer

DEFAULT, COMMAND_LINE = "default", "command line"


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of one run, from the weakest to the strongest that says one."""

    actions: Mapping[str, argparse.Action]
    """By key: the options of the command."""
    defaults: Mapping[str, object]
    """By their names in a namespace, as all that follow."""
    given: Mapping[str, object]
    """What the command line says."""
    layers: Sequence[Layer] = ()
    alone: Collection[frozenset[str]] = ()
    file: Path | None = None
    """Where the layers are from."""

    @property
    def model(self) -> Path | None:
        """The model that the command line names, where it is one."""
        model = self.given.get("model")
        return model if isinstance(model, Path) else None

    def of(self, model: Path | None) -> Namespace:
        """The options for a model; None: for all."""
        return Namespace(**self._said(model)[0], settings=self)

    def origins(self, model: Path | None) -> dict[str, tuple[object, str]]:
        """By key: what is in force for a model, and who said it."""
        values, said = self._said(model)
        return {key: (values[each.dest], said.get(each.dest, DEFAULT)) for key, each in self.actions.items()}

    def _said(self, model: Path | None) -> tuple[dict[str, object], dict[str, str]]:
        """Values and their origins. What is said later takes back what can't be said beside it."""
        values, origins = dict(self.defaults), dict[str, str]()
        for layer in self.layers:
            if layer.names(model):
                for key, value in layer.values.items():
                    name = self.actions[key].dest
                    self._say(values, origins, name, value)
                    origins[name] = layer.origin
        for name, value in self.given.items():
            self._say(values, origins, name, value)
            origins[name] = COMMAND_LINE
        return values, origins

    def _say(self, values: dict[str, object], origins: dict[str, str], name: str, value: object) -> None:
        if value is None:  # a switch that is off
            values[name] = self.defaults.get(name)
            return
        for other in {other for group in self.alone if name in group for other in group} - {name}:
            if other in self.defaults:
                values[other] = self.defaults[other]
                origins.pop(other, None)
        values[name] = value


def parsed(whole: Parser, argv: Sequence[str] | None) -> Settings:
    """Read the command line and the file that it, or the working directory, names.

    Raises GraphfixError for a file that can't be read, and ends the process where the command line says nothing.
    """
    from graphfix.cli import keys

    commands = offered(whole)
    defaults: dict[str, dict[str, object]] = {}
    for name, command in commands.items():
        optional = [action for action in command._actions if action.option_strings]  # noqa: SLF001
        defaults[name] = {action.dest: action.default for action in optional if action.dest != "help"}
        for action in optional:
            action.default = argparse.SUPPRESS  # so that the namespace holds what is said, and nothing else
    given = vars(whole.parse_args(argv))
    name = given["command"]
    command = commands[name]
    if given.get("isolated") or "config" not in defaults[name]:
        return Settings(keys.options(command), defaults[name], given)
    return _with_file(commands, name, defaults[name], given)


def offered(whole: Parser) -> dict[str, Parser]:
    """The commands by name."""
    (commands,) = [each for each in whole._actions if isinstance(each, argparse._SubParsersAction)]  # noqa: SLF001
    return dict(commands.choices)


def _with_file(
    commands: Mapping[str, Parser], name: str, defaults: Mapping[str, object], given: Mapping[str, Any]
) -> Settings:
    from graphfix.cli import config_file, keys

    own = keys.options(commands[name])
    found = config_file.named(given["config"]) if "config" in given else config_file.nearest()
    if found is None:
        return Settings(own, defaults, given)
    path, table = found
    alone = {group for command in commands.values() for group in keys.alone(command)}
    all_options = [keys.options(command) for command in commands.values()]
    known = config_file.Commands(own, all_options, sorted(alone, key=sorted))
    return Settings(own, defaults, given, tuple(config_file.layers(path, table, known)), known.alone, path)

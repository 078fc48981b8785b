"""What is in force: what the options are where nobody says them, what files say, and what the command line says."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from graphfix.cli import parser
from graphfix.cli.configuration import file, keys
from graphfix.cli.configuration.file import Layer
from graphfix.cli.parser import Said
from graphfix.results.records import dataclass

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


def in_force(said: Said) -> Settings:
    """What the command line, and the file that it or the working directory names, say. Raises GraphfixError."""
    own = keys.options(said.parser)
    if said.given.get("isolated") or "config" not in said.defaults:
        return Settings(own, said.defaults, said.given)
    found = file.read_named(said.given["config"]) if "config" in said.given else file.nearest()
    if found is None:
        return Settings(own, said.defaults, said.given)
    path, table = found
    commands = parser.commands_of(parser.parser()).values()
    alone = {group for command in commands for group in keys.alone(command)}
    option_file_commands = file.Commands(
        own, [keys.options(command) for command in commands], sorted(alone, key=sorted)
    )
    layers = tuple(file.layers(path, table, option_file_commands))
    return Settings(own, said.defaults, said.given, layers, option_file_commands.alone, path)

"""The options in force: defaults, values of the configuration file, and values of the command line."""

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
    """The options of one run, from all origins."""

    actions: Mapping[str, argparse.Action]
    """By key: the option of the command."""
    defaults: Mapping[str, object]
    """The defaults, by the options' names in a namespace, like all fields below."""
    given: Mapping[str, object]
    """The options of the command line."""
    layers: Sequence[Layer] = ()
    alone: Collection[frozenset[str]] = ()
    file: Path | None = None
    """The file of the layers."""

    @property
    def model(self) -> Path | None:
        """Return the model that the command line names, if it names one."""
        model = self.given.get("model")
        return model if isinstance(model, Path) else None

    def of(self, model: Path | None) -> Namespace:
        """Return the options for a model; None: those for all models."""
        return Namespace(**self._said(model)[0], settings=self)

    def origins(self, model: Path | None) -> dict[str, tuple[object, str]]:
        """Return by key the value in force for a model, and its origin."""
        values, said = self._said(model)
        return {key: (values[each.dest], said.get(each.dest, DEFAULT)) for key, each in self.actions.items()}

    def _said(self, model: Path | None) -> tuple[dict[str, object], dict[str, str]]:
        """Return the values and their origins. A later value resets the options that it excludes."""
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
    """Return the options of the command line and of the configuration file. Raises GraphfixError."""
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

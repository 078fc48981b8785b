"""Make the requests of a batch: models with the same options share one request."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from graphfix.batch.jobs.job import Command
from graphfix.batch.stores import addresses
from graphfix.cli import answers
from graphfix.cli.configuration.settings import Settings
from graphfix.cli.requests import request
from graphfix.engine.request import Request
from graphfix.results import GraphfixError
from graphfix.results.records import dataclass, field

LACKS: Mapping[Command, tuple[str, ...]] = MappingProxyType(
    {
        "tosa": ("target", "target_file", "broadcasts", "unknown", "keep_fusions", "strict_proof", "runs", "thorough"),
        "check": ("check_result", "strict_proof", "runs", "thorough", "seed", "drop_set_inputs"),
    }
)
"""By command: the options of `batch` that it does not have, by their names in a namespace."""
Alike: TypeAlias = tuple[bool, ...]
"""For each section of the configuration, whether it is about a model.

Models with equal values have the same options.
"""


def refuse_options(options: Namespace, command: Command) -> None:
    """Raise GraphfixError for an option of the command line that the command does not have."""
    given = options.settings.given
    if "run" in given and command != "tosa":
        raise GraphfixError("--run works only with --tosa: add --tosa")
    for action in options.settings.actions.values():
        if action.dest in LACKS.get(command, ()) and action.dest in given:
            raise GraphfixError(f"--{command} has no {action.option_strings[0]}: leave one of them out")


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of a batch, by the sections of the configuration that apply."""

    settings: Settings
    cache: dict[Alike, Request] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Namespace, command: Command, models: Sequence[str]) -> Requests:
        """Make the requests of all models.

        Raises GraphfixError for invalid options, and for a report with the path of a model.
        """
        made = cls(options.settings)
        local = [Path(model) for model in models if not addresses.is_url(model)] if options.report else []
        _refuse_reports(options, local)
        for model in models:
            alike = made._alike(model)
            if alike not in made.cache:
                own = options.settings.of(Path(model))
                for name in LACKS.get(command, ()):  # a configuration may say it for other commands
                    setattr(own, name, options.settings.defaults[name])
                made.cache[alike] = _request(own)
        return made

    def for_model(self, model: str) -> Request:
        """What is asked of a model."""
        return self.cache[self._alike(model)]

    def _alike(self, model: str) -> Alike:
        if all(layer.files is None for layer in self.settings.layers):
            return ()
        path = Path(model)
        return tuple(layer.names(path) for layer in self.settings.layers)


def _refuse_reports(options: Namespace, models: Sequence[Path]) -> None:
    """Raise GraphfixError as `answers.refuse_reports` does; in the folder of the results a report may lie."""
    folder = None if addresses.is_url(options.output) else addresses.local_path(options.output)
    answers.refuse_reports(Namespace(**{**vars(options), "output": folder}), models, folder)


def _request(options: Namespace) -> Request:
    """A request that means the same in another process: its files are named from everywhere.

    The user's own rewrites are looked at here, once, and sent by their names.
    """
    _refuse_reports(options, [])  # the target file may be another one
    options.report = [each.absolute() for each in options.report]
    options.target_file = options.target_file and options.target_file.absolute()
    options.data_root = [each.absolute() for each in options.data_root]
    rewrites = [each.absolute() if isinstance(each, Path) else each for each in options.rewrites]
    answers.read_rewrites(options)
    return replace(request(options, None), rewrites=rewrites)

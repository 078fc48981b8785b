"""Find and read the configuration file.

    [tool.graphfix]                          # in pyproject.toml; graphfix.toml has the same keys at its top
    target = "tosa"
    dim = ["N=4"]
    baseline = "graphfix-baseline.json"

    [[tool.graphfix.overrides]]
    files = ["legacy/*.onnx"]
    ignore = ["GF103"]

Relative paths are resolved against the folder of the file.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from graphfix.batch import globs
from graphfix.batch.globs import Glob
from graphfix.cli.configuration import keys
from graphfix.cli.configuration.keys import Options
from graphfix.results import GraphfixError
from graphfix.results.error_texts import shown
from graphfix.results.files import toml_files
from graphfix.results.records import dataclass

OWN, SHARED = "graphfix.toml", "pyproject.toml"
OVERRIDES, FILES, REWRITES = "overrides", "files", "rewrites"


@dataclass(frozen=True, slots=True)
class Layer:
    """The options that one table of the file sets."""

    origin: str
    """The table, as `config` prints it: `graphfix.toml`, `graphfix.toml: override 2`."""
    values: Mapping[str, object]
    """By key: the value, converted for the command that runs."""
    files: tuple[Glob, ...] | None = None
    """Patterns for the models to which the table applies; None: all models."""

    def names(self, model: Path | None) -> bool:
        """Return whether the table applies to this model."""
        return self.files is None or (model is not None and any(glob.names(model) for glob in self.files))


@dataclass(frozen=True, slots=True)
class Commands:
    """The options of all commands."""

    own: Options
    """The options of the command that runs."""
    all: Collection[Options]
    alone: Collection[frozenset[str]]
    """Groups of options that exclude each other."""


def nearest() -> tuple[Path, Mapping[str, Any]] | None:
    """Return the nearest configuration file and its table; None without one.

    The working directory is searched first, then the folders above it.

    Raises GraphfixError for a file that can't be read.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        where = Path(os.path.relpath(folder, here))
        for name in (OWN, SHARED):
            path = where / name
            table = _table(path) if path.is_file() else None
            if table is not None:
                _refuse_a_strangers(path, table)
                return path, table
    return None


def _refuse_a_strangers(path: Path, table: Mapping[str, Any]) -> None:
    """Raise GraphfixError if a file that was found, not named, belongs to another user and would run Python code."""
    if not hasattr(os, "getuid") or path.stat().st_uid in (0, os.getuid()):
        return
    overrides = table.get(OVERRIDES, [])
    says = [table, *(each for each in overrides if isinstance(each, dict))] if isinstance(overrides, list) else [table]
    if any(REWRITES in each for each in says):
        raise GraphfixError(
            f"{path}: it is another user's, and '{REWRITES}' is Python that runs: --config {path} trusts it, "
            "--isolated leaves it out"
        )


def read_named(path: Path) -> tuple[Path, Mapping[str, Any]]:
    """Return the file that --config names, and its table. Raises GraphfixError for a file that can't be read."""
    table = _table(path)
    if table is None:
        raise GraphfixError(f"{path}: it has no table [tool.graphfix]; name another file, or add the table")
    return path, table


def layers(path: Path, table: Mapping[str, Any], commands: Commands) -> Iterator[Layer]:
    """Yield the options for all models, then those of each override.

    Raises GraphfixError for an invalid key or value.
    """
    try:
        rest = {key: said for key, said in table.items() if key != OVERRIDES}
        yield Layer(str(path), _values(rest, path.parent, commands))
        overrides = _overrides(path, table)
    except ValueError as error:
        raise GraphfixError(f"{path}: {error}") from None
    for number, override in enumerate(overrides, 1):
        origin = f"{path}: override {number}"
        try:
            yield _override(origin, override, path.parent, commands)
        except ValueError as error:
            raise GraphfixError(f"{origin}: {error}") from None


def _table(path: Path) -> Mapping[str, Any] | None:
    """Return the table of the options; None if the file has none."""
    table: Any = toml_files.table(path)
    if path.name != SHARED:
        if isinstance(table.get("tool"), dict):
            raise GraphfixError(f"{path}: 'tool.graphfix' is for {SHARED}: here its keys stand without it")
        return dict(table)
    tools = table.get("tool", {})
    table = tools.get("graphfix") if isinstance(tools, dict) else None
    if table is not None and not isinstance(table, dict):
        raise GraphfixError(f"{path}: 'tool.graphfix' is a table, [tool.graphfix], not {shown(table)}")
    return table


def _overrides(path: Path, table: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tables of overrides. Raises ValueError for any other content."""
    overrides = table.get(OVERRIDES, [])
    if isinstance(overrides, list) and all(isinstance(each, dict) for each in overrides):
        return overrides
    head = f"[[{'tool.graphfix.' * (path.name == SHARED)}{OVERRIDES}]]"
    raise ValueError(f"'{OVERRIDES}' is of tables, {head}, not {shown(overrides)}")


def _override(origin: str, override: Mapping[str, Any], folder: Path, commands: Commands) -> Layer:
    if FILES not in override:
        raise ValueError(f"it has no '{FILES}', the list of names of files or patterns that it is about")
    files = override[FILES]
    if not (isinstance(files, list) and files and all(isinstance(each, str) and each.strip("/") for each in files)):
        raise ValueError(f"'{FILES}' is a list of names of files or patterns, not {shown(files)}")
    for each in files:
        try:
            globs.regex(each)
        except ValueError as error:
            raise ValueError(f"'{FILES}': {shown(each)} has {error}") from None
    rest = {key: said for key, said in override.items() if key != FILES}
    for key in rest:
        if any(action.dest not in keys.OF_A_FILE for action in keys.actions_of(key, commands.all)):
            raise ValueError(f"'{key}' is for a whole run, not for some files: move it out of the overrides")
    return Layer(origin, _values(rest, folder, commands), tuple(Glob(each, folder) for each in files))


def _values(table: Mapping[str, Any], folder: Path, commands: Commands) -> dict[str, object]:
    """Return the value of each key.

    Raises ValueError for an invalid key or value, and for keys that exclude each other.
    """
    values: dict[str, object] = {}
    said: dict[str, str] = {}
    for key, each in table.items():
        action = keys.actions_of(key, commands.all)[0]
        action = commands.own.get(key, action)
        made = keys.value(key, action, each, folder)
        if each is not False:
            said[action.dest] = key
        if key in commands.own:
            values[key] = made
    for group in commands.alone:
        both = [said[name] for name in said if name in group]
        if len(both) > 1:
            raise ValueError(f"'{both[0]}' and '{both[1]}' can't be combined: leave one out")
    return values

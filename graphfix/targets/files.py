"""Targets of the user's own: a table in a TOML file, on top of a target that there is.

    name = "my-npu"                          the file's name without its ending, where it is not said
    base = "ranks"                           what holds where nothing else is said; `explicit`, where it is not said
    evidence = ["measured on board 3"]

    [options]
    broadcasts = "keep"                      as --broadcasts
    keep-fusions = false
    add = ["select-v1-to-v2"]                rewrites beside those of the base
    skip = ["normalize-expand"]              rewrites of the base that do not run

    [limits]
    static = true
    max-rank = 4
    movement = ["RESHAPE", "TILE"]           TFLite: the operators by which lifts and stretches are written
    operators = ["ADD", "MUL", "RESHAPE"]    all that the target takes
    types = ["int8", "int32"]
    reads = "tflite"                         the format whose operators these are
    outside = "it runs on the CPU"           what becomes of a node that is in no table

    [limits.not-supported]
    FILL = "the driver has no FILL"

Every key may be left out. A key that is none of these is an error, as are a name and a value that mean nothing. A
custom operator is `custom:` and its name. Where `reads` is not said and all operators are of one format, it is that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from graphfix.results import GraphfixError
from graphfix.results.error_texts import hint, shown
from graphfix.results.files import toml_files
from graphfix.targets.operator_names import CUSTOM, OPERATORS, TYPES, Format
from graphfix.targets.registry import BROADCASTS, REWRITES, TARGETS
from graphfix.targets.target import MATERIALIZE, MOVEMENT, Target, moved_by, moving, target_of

Table = Mapping[str, Any]
Convert = Callable[[Any], Any]
"""What a key's value becomes. Raises ValueError, with what it should be."""
MOST_AXES = 1000
"""More than any format writes."""


def read(path: Path) -> Target:
    """The target that a file describes. Raises GraphfixError."""
    table = toml_files.table(path)
    try:
        return _target(table, path.stem)
    except ValueError as error:
        raise GraphfixError(f"{path}: {error}") from None


def _target(table: Table, stem: str) -> Target:
    top = _known(table, TOP, "")
    base = target_of(top.pop("base", "explicit"))
    options, limits = _known(top.pop("options", {}), OPTIONS, "options."), top.pop("limits", {})
    limits = _known(limits, LIMITS, "limits.")
    name = top.setdefault("name", stem)
    if name.casefold() in TARGETS:
        raise ValueError(f"'name' is {name!r}, a target that there is: say another one")
    limits["movement"] = limits.get("movement", base.movement)
    added, skipped = options.pop("add", ()), options.pop("skip", ())
    _check_rewrites(added, skipped)
    rewrites = moving({*base.rewrites, *added}, limits["movement"])
    limits["rewrites"] = tuple(name for name in rewrites if name not in skipped)
    other = next((name for name in skipped if name not in rewrites), None)
    if other is not None:
        raise ValueError(f"'options.skip' is of rewrites that run: the target runs no {other!r}; leave it out")
    if options.get("broadcasts", "keep") != "keep" and MATERIALIZE not in limits["rewrites"]:
        why = f"no rewrite of the target stretches; add {MATERIALIZE!r} to 'options.add', or leave it out"
        raise ValueError(f"'options.broadcasts' is {options['broadcasts']!r}, and {why}")
    target = replace(base, **{**top, **options, **limits})
    target = replace(target, reads=target.reads or _read_by(target))
    _check_names(target)
    return target


def _check_rewrites(added: tuple[str, ...], skipped: tuple[str, ...]) -> None:
    """Raise ValueError for a name that is no rewrite, or stands in both lists."""
    for key, names in (("add", added), ("skip", skipped)):
        other = next((name for name in names if name not in REWRITES), None)
        if other is not None:
            how = hint(other, REWRITES, "; `graphfix explain` lists them")
            raise ValueError(f"'options.{key}' is of rewrites: {shown(other)} is none{how}")
    both = next((name for name in added if name in skipped), None)
    if both is not None:
        raise ValueError(f"{both!r} is in 'options.add' and in 'options.skip': say one of them")


def _read_by(target: Target) -> Format | None:
    """The one format that has all of the operators; None where both have, or none has."""
    names = {name for name in (*(target.operators or ()), *target.not_supported) if not name.startswith(CUSTOM)}
    formats = [format_ for format_, operators in OPERATORS.items() if names and names <= operators]
    return formats[0] if len(formats) == 1 else None


def _check_names(target: Target) -> None:
    """Raise ValueError for an operator or a type that the format, or neither of them, has."""
    whose = target.reads or "onnx or tflite"
    for key, names, known_names in (
        ("operators", target.operators, OPERATORS),
        ("not-supported", target.not_supported, OPERATORS),
        ("types", target.types, TYPES),
    ):
        there = known_names[target.reads] if target.reads else frozenset[str]().union(*known_names.values())
        other = next((name for name in sorted(names or ()) if name not in there and not name.startswith(CUSTOM)), None)
        if other is not None:
            what = "types" if key == "types" else "operators"
            raise ValueError(f"'limits.{key}' is of {what} of {whose}: {shown(other)} is none{hint(other, there)}")


def _known(table: Table, keys: Mapping[str, Convert], where: str) -> dict[str, Any]:
    """The values by field, as they are meant. Raises ValueError for the first that is not known."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key not in keys:
            raise ValueError(f"'{where}{key}' is no key of a target; known: {', '.join(where + name for name in keys)}")
        try:
            found[key.replace("-", "_")] = keys[key](value)
        except ValueError as error:
            raise ValueError(f"'{where}{key}' is {error}, not {shown(value)}") from None
    return found


# --- what a value may be --------------------------------------------------------------------------------------------


def _a(kind: type, what: str, value: object) -> object:
    if type(value) is not kind:
        raise ValueError(what)
    return value


def _name(value: object) -> object:
    if not isinstance(value, str) or not value.isprintable() or not value.strip():
        raise ValueError("a text of one line")
    return value


def _one_of(known_values: tuple[str, ...], value: object) -> object:
    if value not in known_values:
        raise ValueError(f"one of {', '.join(known_values)}")
    return value


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError("a list of names")
    return tuple(value)


def _some(value: object) -> frozenset[str]:
    names = _names(value)
    if not names:
        raise ValueError("a list of one name or more")
    return frozenset(names)


def _movement(value: object) -> frozenset[str]:
    names = _some(value)
    if not names <= MOVEMENT:
        raise ValueError(f"a list of names of {', '.join(sorted(MOVEMENT))}")
    return moved_by(*names)


def _rank(value: object) -> object:
    if type(value) is not int or not 1 <= value <= MOST_AXES:
        raise ValueError(f"a whole number from 1 to {MOST_AXES}")
    return value


def _reasons(value: object) -> Mapping[str, str]:
    if not isinstance(value, dict) or not all(isinstance(why, str) for why in value.values()):
        raise ValueError("a table of operators and reasons")
    return dict(value)


_flag, _table = partial(_a, bool, "true or false"), partial(_a, dict, "a table")
TOP: Mapping[str, Convert] = MappingProxyType(
    {
        "name": _name,
        "base": partial(_one_of, TARGETS),
        "evidence": _names,
        "options": _table,
        "limits": _table,
    }
)
OPTIONS: Mapping[str, Convert] = MappingProxyType(
    {
        "broadcasts": partial(_one_of, BROADCASTS),
        "keep-fusions": _flag,
        "add": _names,
        "skip": _names,
    }
)
LIMITS: Mapping[str, Convert] = MappingProxyType(
    {
        "static": _flag,
        "max-rank": _rank,
        "movement": _movement,
        "operators": _some,
        "types": _some,
        "elements": _flag,
        "reads": partial(_one_of, ("onnx", "tflite")),
        "outside": _name,
        "not-supported": _reasons,
    }
)

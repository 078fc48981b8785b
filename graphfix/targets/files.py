"""Read a target that the user defines in a TOML file, based on an existing target.

    name = "my-npu"                          default: the file's name without its extension
    base = "ranks"                           the target whose values are used for missing keys; default: `explicit`
    evidence = ["measured on board 3"]

    [options]
    broadcasts = "keep"                      as --broadcasts
    keep-fusions = false
    add = ["select-v1-to-v2"]                rewrites that run in addition to those of the base
    skip = ["normalize-expand"]              rewrites of the base that do not run

    [limits]
    static = true
    max-rank = 4
    movement = ["RESHAPE", "TILE"]           TFLite: the operators by which lifts and stretches are written
    operators = ["ADD", "MUL", "RESHAPE"]    all operators that the target supports
    types = ["int8", "int32"]
    elements = true                          every value must have elements (no size 0)
    reads = "tflite"                         the format whose operators these are
    outside = "it runs on the CPU"           what happens to a node that the tables do not contain

    [limits.not-supported]
    FILL = "the driver has no FILL"

Every key is optional. An unknown key, an unknown name and an invalid value are errors. A custom operator is written as
`custom:` and its name. Without `reads`, the format is the only one that contains all listed operators, if there is one.
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
"""A conversion of a key's value from the file. Raises ValueError with a description of correct values."""
MOST_AXES = 1000
"""The largest accepted `max-rank`: more axes than any format can write."""


def read(path: Path) -> Target:
    """Return the target that a TOML file describes. Raises GraphfixError."""
    table = toml_files.table(path)
    try:
        return _target(table, path.stem)
    except ValueError as error:
        raise GraphfixError(f"{path}: {error}") from None


def _target(table: Table, stem: str) -> Target:
    """Return the target that a parsed table describes. `stem` is the default name. Raises ValueError."""
    top = _known(table, TOP, "")
    base = target_of(top.pop("base", "explicit"))
    options, limits = _known(top.pop("options", {}), OPTIONS, "options."), top.pop("limits", {})
    limits = _known(limits, LIMITS, "limits.")
    name = top.setdefault("name", stem)
    if name.casefold() in TARGETS:
        raise ValueError(f"'name' is {name!r}, the name of an existing target: choose another one")
    limits["movement"] = limits.get("movement", base.movement)
    added, skipped = options.pop("add", ()), options.pop("skip", ())
    _check_rewrites(added, skipped)
    rewrites = moving({*base.rewrites, *added}, limits["movement"])
    limits["rewrites"] = tuple(name for name in rewrites if name not in skipped)
    other = next((name for name in skipped if name not in rewrites), None)
    if other is not None:
        raise ValueError(f"'options.skip' has {other!r}, which the target does not run; leave it out")
    if options.get("broadcasts", "keep") != "keep" and MATERIALIZE not in limits["rewrites"]:
        why = f"no rewrite of the target stretches; add {MATERIALIZE!r} to 'options.add', or leave it out"
        raise ValueError(f"'options.broadcasts' is {options['broadcasts']!r}, and {why}")
    target = replace(base, **{**top, **options, **limits})
    target = replace(target, reads=target.reads or _read_by(target))
    _check_names(target)
    return target


def _check_rewrites(added: tuple[str, ...], skipped: tuple[str, ...]) -> None:
    """Raise ValueError if a name is not the name of a rewrite, or is in both lists."""
    for key, names in (("add", added), ("skip", skipped)):
        other = next((name for name in names if name not in REWRITES), None)
        if other is not None:
            how = hint(other, REWRITES, "; `graphfix explain` lists them")
            raise ValueError(f"'options.{key}' is of rewrites: {shown(other)} is none{how}")
    both = next((name for name in added if name in skipped), None)
    if both is not None:
        raise ValueError(f"{both!r} is in 'options.add' and in 'options.skip': leave one out")


def _read_by(target: Target) -> Format | None:
    """Return the format that contains all operators of the target's tables; None if both formats do, or neither."""
    names = {name for name in (*(target.operators or ()), *target.not_supported) if not name.startswith(CUSTOM)}
    formats = [format_ for format_, operators in OPERATORS.items() if names and names <= operators]
    return formats[0] if len(formats) == 1 else None


def _check_names(target: Target) -> None:
    """Raise ValueError if the target's tables contain an operator or type that its format does not have.

    Without a format, the name may belong to either format.
    """
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
    """Return the converted values of a table by field name (`max-rank` is the field `max_rank`).

    `keys` maps each permitted key to its conversion, and `where` is a prefix for messages. Raises ValueError for the
    first unknown key or invalid value.
    """
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key not in keys:
            raise ValueError(
                f"'{where}{key}' is not a key of a target; known: {', '.join(where + name for name in keys)}"
            )
        try:
            found[key.replace("-", "_")] = keys[key](value)
        except ValueError as error:
            raise ValueError(f"'{where}{key}' is {error}, not {shown(value)}") from None
    return found


# --- conversions of values ------------------------------------------------------------------------------------------


def _a(kind: type, what: str, value: object) -> object:
    """Return `value` if its type is exactly `kind`.

    Raises ValueError with `what`, the description of a correct value.
    """
    if type(value) is not kind:
        raise ValueError(what)
    return value


def _name(value: object) -> object:
    """Return a printable text that is not blank. Raises ValueError for any other value."""
    if not isinstance(value, str) or not value.isprintable() or not value.strip():
        raise ValueError("a text of one line")
    return value


def _one_of(known_values: tuple[str, ...], value: object) -> object:
    """Return `value` if it is in `known_values`. Raises ValueError otherwise."""
    if value not in known_values:
        raise ValueError(f"one of {', '.join(known_values)}")
    return value


def _names(value: object) -> tuple[str, ...]:
    """Return a list of texts as a tuple. Raises ValueError for any other value."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError("a list of names")
    return tuple(value)


def _some(value: object) -> frozenset[str]:
    """Return a list of one or more texts as a set. Raises ValueError for any other value."""
    names = _names(value)
    if not names:
        raise ValueError("a list of one name or more")
    return frozenset(names)


def _movement(value: object) -> frozenset[str]:
    """Return the movement operators of a target: the listed ones of TFLite, with their counterparts in ONNX.

    Raises ValueError for a name that is not a movement operator of TFLite.
    """
    names = _some(value)
    if not names <= MOVEMENT:
        raise ValueError(f"a list of names of {', '.join(sorted(MOVEMENT))}")
    return moved_by(*names)


def _rank(value: object) -> object:
    """Return an integer from 1 to `MOST_AXES`. Raises ValueError for any other value."""
    if type(value) is not int or not 1 <= value <= MOST_AXES:
        raise ValueError(f"a whole number from 1 to {MOST_AXES}")
    return value


def _reasons(value: object) -> Mapping[str, str]:
    """Return a table whose values are texts. Raises ValueError for any other value."""
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

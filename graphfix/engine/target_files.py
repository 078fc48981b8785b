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

Every key may be left out. A key that is none of these is an error, as are a name and a value that mean nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from graphfix.engine.targets import BROADCASTS, MOVEMENT, RULES, TARGETS, Target, moved_by, moving
from graphfix.results import GraphfixError

Table = Mapping[str, Any]
Convert = Callable[[Any], Any]
"""What a key's value becomes. Raises ValueError, with what it should be."""
LARGEST = 1 << 20
"""Bytes: a target is a page of text."""


def read(path: Path) -> Target:
    """The target that a file describes. Raises GraphfixError."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise GraphfixError(f"{path}: a target file takes at most {LARGEST} bytes")
        table = tomllib.loads(content.decode())
    except OSError as error:
        raise GraphfixError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise GraphfixError(f"{path}: no TOML: {error}") from None
    try:
        return _target(table, path.stem)
    except ValueError as error:
        raise GraphfixError(f"{path}: {error}") from None


def _target(table: Table, stem: str) -> Target:
    top = _known(table, TOP, "")
    base = TARGETS[top.pop("base", "explicit")]
    options, limits = _known(top.pop("options", {}), OPTIONS, "options."), top.pop("limits", {})
    limits = _known(limits, LIMITS, "limits.")
    added, skipped = options.pop("add", ()), options.pop("skip", ())
    limits["movement"] = limits.get("movement", base.movement)
    rules = [name for name in moving({*base.rules, *added}, limits["movement"]) if name not in skipped]
    return replace(base, **{"name": stem, "rules": tuple(rules), **top, **options, **limits})


def _known(table: Table, keys: Mapping[str, Convert], where: str) -> dict[str, Any]:
    """The values by field, as they are meant. Raises ValueError for the first that is not known."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key not in keys:
            raise ValueError(f"'{where}{key}' is no key of a target; known: {', '.join(where + name for name in keys)}")
        try:
            found[key.replace("-", "_")] = keys[key](value)
        except ValueError as error:
            raise ValueError(f"'{where}{key}' is {error}, not {value!r}") from None
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


def _one_of(known: tuple[str, ...], value: object) -> object:
    if value not in known:
        raise ValueError(f"one of {', '.join(known)}")
    return value


def _some_of(known: tuple[str, ...] | None, value: object) -> tuple[str, ...]:
    """A list of names, of those that are known, where the list is closed."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError("a list of names")
    other = next((name for name in value if known is not None and name not in known), None)
    if known is not None and other is not None:
        raise ValueError(f"a list of names of {', '.join(known)}")
    return tuple(value)


def _set_of(known: tuple[str, ...] | None, value: object) -> frozenset[str]:
    return frozenset(_some_of(known, value))


def _movement(value: object) -> frozenset[str]:
    return moved_by(*_some_of(tuple(sorted(MOVEMENT)), value))


def _rank(value: object) -> object:
    if type(value) is not int or value < 1:
        raise ValueError("a whole number of 1 or more")
    return value


def _reasons(value: object) -> Mapping[str, str]:
    if not isinstance(value, dict) or not all(isinstance(why, str) for why in value.values()):
        raise ValueError("a table of operators and reasons")
    return MappingProxyType(dict(value))


_flag, _table = partial(_a, bool, "true or false"), partial(_a, dict, "a table")
TOP: Mapping[str, Convert] = MappingProxyType(
    {
        "name": _name,
        "base": partial(_one_of, tuple(TARGETS)),
        "evidence": partial(_some_of, None),
        "options": _table,
        "limits": _table,
    }
)
OPTIONS: Mapping[str, Convert] = MappingProxyType(
    {
        "broadcasts": partial(_one_of, BROADCASTS),
        "keep-fusions": _flag,
        "add": partial(_some_of, RULES),
        "skip": partial(_some_of, RULES),
    }
)
LIMITS: Mapping[str, Convert] = MappingProxyType(
    {
        "static": _flag,
        "max-rank": _rank,
        "movement": _movement,
        "operators": partial(_set_of, None),
        "types": partial(_set_of, None),
        "elements": _flag,
        "reads": partial(_one_of, ("onnx", "tflite")),
        "outside": _name,
        "not-supported": _reasons,
    }
)

"""The options of TFLite operators as values that can be compared. Options with equal bytes are read once."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from graphfix.checker.files.tflite.records import Options
from graphfix.checker.files.tflite.schema import OPTIONS, OPTIONS_2, OWN_OPTIONS, fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.files.tflite.tables import Table

_NONE = Options({}, (), ())


@cache
def is_foreign(name: str, kind: int, newer: int) -> bool:
    """Return whether an operator has an options table that runtimes ignore and this reader would read.

    This is true for an operator with two tables, and for a table that belongs to another operator. `kind` and `newer`
    are the numbers of the tables' kinds in the fields `builtin_options` and `builtin_options_2`; 0 means no table.
    """
    found = [names.get(each) for each, names in ((kind, OPTIONS), (newer, OPTIONS_2)) if each]
    return len(found) > 1 or (name in OWN_OPTIONS and found not in ([], [OWN_OPTIONS[name]]))


def options_of(table: Table | None, further: Table | None, kind: int, newer: int) -> Options:
    """Return an operator's options, from both fields that the schema has for them. Raises UnsupportedFieldError.

    `table` is the table in `builtin_options`, of kind `kind`. `further` is the table in `builtin_options_2`, of kind
    `newer`.
    """
    if further is None:
        return _NONE if table is None else _read(table, OPTIONS.get(kind))
    options = _read(further, OPTIONS_2.get(newer))
    return options if table is None else _told_apart({**_read(table, OPTIONS.get(kind)).fields, **options.fields})


def _read(table: Table, name: str | None) -> Options:
    """Return the options in a table of the kind `name`.

    The result is cached by the table's bytes, unless the table refers to strings, vectors or tables outside these
    bytes.
    """
    key = (name, *table.inline)
    found = table.tables.plain.get(key)
    if found is None:
        found = _told_apart(fields(table, name))
        if not any(isinstance(value, tuple | bytes) for value in found.fields.values()):
            table.tables.plain[key] = found
    return found


def _told_apart(options: Mapping[str, object]) -> Options:
    """Return options with the fields that refer to subgraphs separated from the other fields."""
    running = sorted(filter(_runs, options))
    bodies = tuple([(key, at) for key in running for at in _each(options[key])])
    return Options(options, bodies, tuple([pair for pair in options.items() if pair[0] not in running]))


def _runs(option: str) -> bool:
    """Return whether an option refers to subgraphs by index."""
    return option.endswith(("ubgraphIndex", "ubgraphIndices")) or option in ("subgraph", "calledComputations")


def _each(value: object) -> tuple[int, ...]:
    """Return the integers in an option's value, which is a number or a vector."""
    items = value if isinstance(value, tuple) else (value,)
    return tuple(at for at in items if isinstance(at, int))

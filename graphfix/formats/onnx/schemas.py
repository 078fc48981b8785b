"""ONNX's operator schemas, in every version of the operator sets, read from a table without importing onnx.

The first use of `onnx.defs` registers all operators of all versions (9 ms, 7 MiB) and needs all of onnx. The table is
written by `scripts/schemas_table.py`. A row is parsed when it is first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

from graphfix.results.records import dataclass

TABLE: Final = Path(__file__).with_suffix(".txt")
KINDS: Final = {
    "FLOAT": 1, "INT": 2, "STRING": 3, "TENSOR": 4, "GRAPH": 5, "SPARSE_TENSOR": 11, "TYPE_PROTO": 13,
    "FLOATS": 6, "INTS": 7, "STRINGS": 8,
}  # fmt: skip
"""The types of attributes with their numbers in files (onnx.proto, AttributeProto.AttributeType)."""
_MANY: Final = (1 << 31) - 1
"""The largest number of operands of a variadic operator, as in onnx."""
Option: TypeAlias = Literal["single", "optional", "variadic"]
Value: TypeAlias = float | str | tuple[float | str, ...]
_OPTIONS: Final[Mapping[str, Option]] = {"?": "optional", "*": "variadic", "+": "variadic"}
"""The kind of a parameter by its mark in the table. `+` requires at least one operand."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """An operand or result of a schema. A variadic parameter describes all operands from its position on."""

    variable: str
    """The type variable, or the type itself if only one is allowed.

    Operands with the same type variable must have the same type.
    """
    types: tuple[str, ...]
    """The allowed types, such as `tensor(float)` and `seq(tensor(float))`."""
    option: Option


@dataclass(frozen=True, slots=True)
class Attribute:
    """The requirements for an attribute."""

    kind: int
    """A number of `KINDS`."""
    required: bool
    default: Value | None
    """The default value; None if there is none."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The definition of an operator, valid since version `since` of its operator set."""

    since: int
    deprecated: bool
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    operands: range
    """The allowed numbers of operands."""
    results: range
    attributes: Mapping[str, Attribute]


@cache
def schema(op: str, domain: str, version: int) -> Schema | None:
    """Return an operator's definition in a version of its operator set; None if this version has no such operator.

    `domain` is "" for the standard operators. For a version newer than the table, the newest definition is returned.
    """
    rows = _operators().get(f"{domain}:{op}", ())
    return next((_schema(row) for row in reversed(rows) if int(row.partition(" ")[0]) <= version), None)


def newest() -> int:
    """Return the newest version of the standard operators in the table."""
    return int(_paragraphs()[0])


# --- the file --------------------------------------------------------------------------------------------------------


@cache
def _paragraphs() -> list[str]:
    """Return the paragraphs of the table: the newest version, the sets of types, and then one for each operator."""
    return TABLE.read_text(encoding="utf-8").split("\n\n")[1:]


@cache
def _operators() -> Mapping[str, list[str]]:
    """Return the rows of each operator by `domain:Operator`: one row for each version, the oldest first."""
    return {name: rows for name, *rows in (text.splitlines() for text in _paragraphs()[2:])}


@cache
def _types(number: str) -> tuple[str, ...]:
    """Return the set of types with this number. The table omits `tensor()` around a type."""
    _, *names = _paragraphs()[1].splitlines()[int(number)].split()
    return tuple([name if "(" in name else f"tensor({name})" for name in names])


def _schema(row: str) -> Schema:
    """Return the definition in a row of the table.

    The row has the parts version, inputs, outputs, type variables, attributes.
    """
    (since, *deprecated), inputs, outputs, variables, attributes = (part.split() for part in row.split("|"))
    types = dict(each.split("=") for each in variables)
    return Schema(
        int(since),
        bool(deprecated),
        tuple([_parameter(text, types) for text in inputs]),
        tuple([_parameter(text, types) for text in outputs]),
        _count(inputs),
        _count(outputs),
        dict(map(_attribute, attributes)),
    )


def _parameter(text: str, types: Mapping[str, str]) -> Parameter:
    """Return the parameter of a text in the table, such as `T`, `T?` or `tensor(int64)`.

    `types` maps variables to type sets.
    """
    variable = text.rstrip("?*+")
    number = types.get(variable)
    option = _OPTIONS.get(text[-1], "single")
    return Parameter(variable, (variable,) if number is None else _types(number), option)


def _count(parameters: list[str]) -> range:
    """Return the allowed numbers of operands (or results) of a list of parameters.

    The smallest number includes all parameters up to the last required one.
    """
    least = most = 0
    for text in parameters:
        option = _OPTIONS.get(text[-1], "single")
        if option == "variadic":
            # As in onnx, optional operands before a variadic one are counted as required.
            return range(most + text.endswith("+"), _MANY + 1)
        most += 1
        least = most if option == "single" else least
    return range(least, most + 1)


def _attribute(text: str) -> tuple[str, Attribute]:
    """Return the name and the requirements of an attribute from its text in the table.

    The texts are `axis:INT`, `to:INT!` (required), `mode:STRING=constant`.
    """
    declared, stated, default = text.partition("=")
    name, _, kind = declared.rstrip("!").partition(":")
    return name, Attribute(KINDS[kind], declared.endswith("!"), _DEFAULTS[kind](default) if stated else None)


_DEFAULTS: Final[Mapping[str, Callable[[str], Value]]] = {
    "INT": int,
    "FLOAT": float,
    "STRING": str,
    "INTS": lambda text: tuple(map(int, text.split(","))),
    "STRINGS": lambda text: tuple(text.split(",")),
}
"""For each attribute type, the function that parses a default. Other types have no defaults."""

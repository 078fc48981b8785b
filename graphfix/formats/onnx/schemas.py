"""What ONNX's definitions ask of each operator, in every version of its operator set: a table, without onnx itself.

The first question to `onnx.defs` registers all operators of all versions (9 ms, 7 MiB), and needs all of onnx. The
table is written by `scripts/schemas_table.py`; a row is read when it is asked for.
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
"""The types of attributes as files number them (onnx.proto, AttributeProto.AttributeType)."""
_MANY: Final = (1 << 31) - 1
"""The most operands of a variadic operator, as onnx has it."""
Option: TypeAlias = Literal["single", "optional", "variadic"]
Value: TypeAlias = float | str | tuple[float | str, ...]
_OPTIONS: Final[Mapping[str, Option]] = {"?": "optional", "*": "variadic", "+": "variadic"}
"""By the mark in the file; `+`: at least one."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """An operand or result; a variadic one stands for all that follow."""

    variable: str
    """Its type variable; those of one variable have one type. A parameter of one fixed type may have that instead."""
    types: tuple[str, ...]
    """`tensor(float)`, `seq(tensor(float))` ..."""
    option: Option


@dataclass(frozen=True, slots=True)
class Attribute:
    """What an attribute must be."""

    kind: int
    """Of `KINDS`."""
    required: bool
    default: Value | None
    """None where there is none."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The definition of an operator, as it is since one version of its operator set."""

    since: int
    deprecated: bool
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    operands: range
    """How many there may be."""
    results: range
    attributes: Mapping[str, Attribute]


@cache
def schema(op: str, domain: str, version: int) -> Schema | None:
    """Return an operator's definition in a version of its operator set, None where that has no such operator.

    `domain` is "" for the standard operators. A version newer than the table's has what is newest there.
    """
    rows = _operators().get(f"{domain}:{op}", ())
    return next((_schema(row) for row in reversed(rows) if int(row.partition(" ")[0]) <= version), None)


def newest() -> int:
    """Return the newest version of the standard operators."""
    return int(_paragraphs()[0])


# --- the file --------------------------------------------------------------------------------------------------------


@cache
def _paragraphs() -> list[str]:
    """The newest version, the sets of types, and the operators."""
    return TABLE.read_text(encoding="utf-8").split("\n\n")[1:]


@cache
def _operators() -> Mapping[str, list[str]]:
    """`domain:Operator` -> a row a version, the oldest first."""
    return {name: rows for name, *rows in (text.splitlines() for text in _paragraphs()[2:])}


@cache
def _types(number: str) -> tuple[str, ...]:
    """The set of types of this number; the file leaves `tensor()` out."""
    _, *names = _paragraphs()[1].splitlines()[int(number)].split()
    return tuple([name if "(" in name else f"tensor({name})" for name in names])


def _schema(row: str) -> Schema:
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
    variable = text.rstrip("?*+")
    number = types.get(variable)
    option = _OPTIONS.get(text[-1], "single")
    return Parameter(variable, (variable,) if number is None else _types(number), option)


def _count(parameters: list[str]) -> range:
    """How many operands, or results, there may be: those up to the last one that must be there, and those after it."""
    least = most = 0
    for text in parameters:
        option = _OPTIONS.get(text[-1], "single")
        if option == "variadic":
            return range(most + text.endswith("+"), _MANY + 1)  # as onnx counts: optional ones before it are there
        most += 1
        least = most if option == "single" else least
    return range(least, most + 1)


def _attribute(text: str) -> tuple[str, Attribute]:
    """`axis:INT`, `to:INT!` (required), `mode:STRING=constant`."""
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
"""How a default is read; no other type has any."""

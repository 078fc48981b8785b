"""The tables of the schema, compared with those of the installed LiteRT."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

from graphfix.formats.tflite.file import options
from graphfix.formats.tflite.file import schema as layouts
from graphfix.formats.tflite.file.schema import CODES, OPERATORS, TENSOR_TYPES, Layout
from tests.support.tflite.flat_files import schema

FORMS = {
    "Uint32": "I",
    "Int32": "i",
    "Int8": "b",
    "Uint8": "B",
    "Uint64": "Q",
    "Bool": "?",
    "UOffsetTRelative": "o",
    "Float32": "f",
}
TABLES = [value for value in vars(layouts).values() if isinstance(value, Layout)]
BYTES = {"bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1}
"""Of the types that numpy does not know."""


def members(enumeration: type) -> dict[int, str]:
    return {number: name for name, number in vars(enumeration).items() if isinstance(number, int)}


def slots(table: str) -> dict[int, tuple[str, str, int]]:
    """By slot: the field's name, its format and default, from the calls of the generated builder functions."""
    found = {}
    for name, function in inspect.getmembers(schema, inspect.isfunction):
        if name.startswith(f"{table}Add"):
            call = re.search(r"Prepend(\w+)Slot\((\d+), .*?, (-?[\d.]+)\)$", inspect.getsource(function).strip())
            if call is not None:
                snake = re.sub(r"(?<!^)([A-Z])", r"_\1", name.removeprefix(f"{table}Add")).lower()
                found[int(call[2])] = (snake, FORMS[call[1]], int(float(call[3])))
    return found


def test_operators_are_those_of_the_installed_schema() -> None:
    assert dict(OPERATORS) == members(schema.BuiltinOperator)
    assert CODES["BROADCAST_TO"] == 130
    assert OPERATORS[layouts.CUSTOM] == "CUSTOM"


def test_element_types_are_those_of_the_installed_schema() -> None:
    assert {number: name for number, (name, _) in TENSOR_TYPES.items()} == {
        number: name.lower() for number, name in members(schema.TensorType).items()
    }


@pytest.mark.parametrize(("name", "bits"), TENSOR_TYPES.values())
def test_bits_of_an_element_are_what_numpy_or_the_types_name_says(name: str, bits: int | None) -> None:
    if name in {"string", "resource", "variant"}:
        assert bits is None
    elif name in {"int4", "uint4", "int2"}:
        assert bits == int(name[-1])
    else:
        assert bits == 8 * (BYTES.get(name) or np.dtype(name).itemsize)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.table)
def test_a_layout_has_the_slots_of_the_installed_schema(table: Layout) -> None:
    declared = {
        slot: (name.replace("_2", "2"), form, default)
        for slot, (name, form, default) in enumerate(zip(table.names, table.formats, table.defaults, strict=True))
        if name != "unused"
    }
    assert declared == slots(table.table)


@pytest.mark.parametrize(
    ("union", "kinds"),
    [(schema.BuiltinOptions, options._FIRST), (schema.BuiltinOptions2, options._SECOND)],
    ids=["BuiltinOptions", "BuiltinOptions2"],
)
def test_options_have_the_slots_of_the_installed_schema(union: type, kinds: dict[int, str]) -> None:
    for kind, fields in kinds.items():
        reported = slots(members(union)[kind])
        for slot, entry in enumerate(fields.split()):
            name, form, default = re.fullmatch(r"(.*?):(.*?)(?:=(\d+))?", entry).groups()  # type: ignore[union-attr]  # a miss is a failure
            if name != "-":
                assert reported[slot] == (name, "o" if form.endswith("*") else form, int(default or 0)), (kind, entry)

"""TFLite's schema: the names of numbers, and tables as values that can be compared.

It is read from the package `tflite`, which contains the schema and no runtime.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from flatbuffers.table import Table as Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.files.tflite.tables import Table


class UnsupportedFieldError(Exception):
    """The file contains a field or a kind of table that this schema does not define.

    It may change the model's meaning.
    """


@cache
def _generated(name: str) -> Any:  # noqa: ANN401 - generated, without types
    """Return the module of one table, which the schema compiler generated.

    Raises UnsupportedFieldError if it is missing.

    Only this module is loaded. The package would import all 180 modules, which takes longer than most proofs.
    """
    package = importlib.util.find_spec("tflite")
    folders = package.submodule_search_locations if package is not None else None
    path = Path(next(iter(folders or ("",))), f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"{__name__}.{name}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UnsupportedFieldError(f"the schema of the proof knows no {name}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _numbered(enumeration: str) -> dict[int, str]:
    """Return the names of an enumeration of the schema, by number."""
    kinds = vars(getattr(_generated(enumeration), enumeration))
    return {code: name for name, code in kinds.items() if isinstance(code, int)}


OPERATORS: Mapping[int, str] = _numbered("BuiltinOperator")
TYPES: Mapping[int, str] = {code: name.lower() for code, name in _numbered("TensorType").items()}
OPTIONS: Mapping[int, str] = _numbered("BuiltinOptions")
OPTIONS_2: Mapping[int, str] = _numbered("BuiltinOptions2")
DETAILS: Mapping[int, str] = _numbered("QuantizationDetails")
CUSTOM = next(code for code, name in OPERATORS.items() if name == "CUSTOM")
OWN_OPTIONS: Mapping[str, str] = {
    "RESHAPE": "ReshapeOptions", "SQUEEZE": "SqueezeOptions", "SHAPE": "ShapeOptions", "GATHER": "GatherOptions",
    "CONCATENATION": "ConcatenationOptions", "PACK": "PackOptions", "STRIDED_SLICE": "StridedSliceOptions",
    "SPLIT": "SplitOptions", "SPLIT_V": "SplitVOptions", "CAST": "CastOptions", "BATCH_MATMUL": "BatchMatMulOptions",
    "CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), "Pool2DOptions"),
    **dict.fromkeys("MEAN SUM REDUCE_MAX REDUCE_MIN REDUCE_PROD REDUCE_ANY REDUCE_ALL".split(), "ReducerOptions"),
    "ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions",
    "IF": "IfOptions", "WHILE": "WhileOptions", "CALL": "CallOptions", "CALL_ONCE": "CallOnceOptions",
}  # fmt: skip
"""For operators whose options the checker interprets, the only options table that runtimes read for this operator.

Runtimes ignore a table of another kind.
"""
_UNIONS: Mapping[str, Mapping[int, str]] = dict.fromkeys(
    ("ArraySegments", "ArrayIndices"), _numbered("SparseIndexVector")
)
"""For each union field of sparse tensors, the kinds of tables that it may contain, by the number in its type field."""


class TableFields(NamedTuple):
    """The fields of a table, from the schema."""

    vectors: Mapping[str, bool]
    """The fields by name, in the order of the schema, with True for each vector."""
    total: int
    """The number of the table's fields, including deprecated fields."""


class _Counter:
    """A replacement for a FlatBuffers builder. It records how many fields a generated module declares."""

    def StartObject(self, count: int) -> None:  # noqa: N802 - the generated code calls it so
        self.count = count


@cache
def _table_fields(name: str) -> TableFields:
    """Return the fields of a table, found in the methods of its generated module."""
    methods = [
        each for each in vars(getattr(_generated(name), name)) if each[0].isupper() and not each.startswith("GetRootAs")
    ]
    fields = [each for each in methods if each != "Init" and not each.endswith(("BufferHasIdentifier", "IsNone"))]
    plain = [each for each in fields if not each.endswith(("AsNumpy", "Length"))]
    counter = _Counter()
    getattr(_generated(name), f"{name}Start")(counter)
    return TableFields({each: f"{each}Length" in methods for each in plain}, counter.count)


def table_of_version(table: Table, count: int, what: str) -> Table:
    """Return the table if it contains only the first `count` fields of its kind.

    Any further field raises UnsupportedFieldError, because it may change the model's meaning. A lenient reading ignores
    further fields. `what` is the name of the table in the message.
    """
    read = table.tables.read
    if (id(table.offsets), count) in read:
        return table
    if any(table.offsets[count:]) and not table.tables.lenient:
        raise UnsupportedFieldError(f"{what} has a field that the schema of the proof does not know")
    read.add((id(table.offsets), count))
    return table


def fields(table: Table, name: str | None) -> dict[str, object]:
    """Return all fields of a table, by name, as values that can be compared.

    `name` is the kind of the table; None is an unknown kind, which raises UnsupportedFieldError. A lenient reading
    returns no fields for an unknown kind.
    """
    if name is None and table.tables.lenient:
        return {}
    if name is None:
        raise UnsupportedFieldError("the file has a table of a kind that the schema of the proof does not know")
    return _fields(name, table.data, table.place, table)


def _fields(name: str, data: Any, place: int, table: Table) -> dict[str, object]:  # noqa: ANN401 - bytes of any kind
    """Return all fields of a table of the kind `name` by name, as values that can be compared.

    The table begins at byte `place` of `data`. Raises UnsupportedFieldError for a field that the schema does not
    define, and for a string without the 0 byte at its end, unless the reading is lenient.
    """
    form = _table_fields(name)
    table_of_version(table, form.total, f"a table of {name}")
    reader = getattr(_generated(name), name)()
    reader.Init(data, place)
    found = {
        each[0].lower() + each[1:]: _vector(reader, each, table) if vector else _value(reader, each, table)
        for each, vector in form.vectors.items()
    }
    strings = [slot for slot, value in enumerate(found.values()) if isinstance(value, bytes)]
    if not table.tables.lenient and not all(map(table.ended, strings)):
        raise UnsupportedFieldError(f"a string of {name} is not ended, which runtimes refuse")
    return found


def _vector(reader: Any, name: str, table: Table) -> object:  # noqa: ANN401 - generated, without types
    """Return a vector of numbers or tables as a tuple; None if the field is missing."""
    if getattr(reader, f"{name}IsNone")():
        return None
    if hasattr(reader, f"{name}AsNumpy"):
        return tuple(getattr(reader, f"{name}AsNumpy")().tolist())
    get = getattr(reader, name)
    return tuple(_plain(get(index), None, table) for index in range(getattr(reader, f"{name}Length")()))


def _value(reader: Any, name: str, table: Table) -> object:  # noqa: ANN401 - generated, without types
    """Return a field that is not a vector, as a value that can be compared."""
    value = getattr(reader, name)()
    kind = _UNIONS[name].get(getattr(reader, f"{name}Type")()) if isinstance(value, Place) else None
    return _plain(value, kind, table)


def _plain(value: Any, kind: str | None, table: Table) -> object:  # noqa: ANN401 - a field of any type
    """Return a value as one that can be compared: a table as (kind, fields), a float as hexadecimal text.

    `kind` is the kind of a table in a union field.
    """
    if isinstance(value, Place):
        return (kind, tuple(_inner(kind or "", value, table).items()))
    if hasattr(value, "_tab"):
        name = type(value).__name__
        return (name, tuple(_inner(name, value._tab, table).items()))  # noqa: SLF001 - no public field has the position
    return value.hex() if isinstance(value, float) else value


def _inner(name: str, place: Place, table: Table) -> dict[str, object]:
    """Return all fields of a table that lies inside another table, by name."""
    return _fields(name, table.data, place.Pos, table.tables.at(place.Pos))

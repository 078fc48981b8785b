"""TFLite's schema as the package `tflite` has it, which is no runtime: names by number, and whole tables as values."""

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
    """A file says more than this schema knows, which may count."""


@cache
def _generated(name: str) -> Any:  # noqa: ANN401 - generated, without types
    """Load the module of one table alone: the package imports all 180 of them, which takes longer than most proofs."""
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
"""Operators whose options are acted on, by the one table that runtimes read them from: another one's are none."""
_UNIONS: Mapping[str, Mapping[int, str]] = dict.fromkeys(
    ("ArraySegments", "ArrayIndices"), _numbered("SparseIndexVector")
)
"""The tables that a field may hold whose kind is in another field."""


class TableFields(NamedTuple):
    """What the schema says of a table."""

    vectors: Mapping[str, bool]
    """The fields by name, in order, and whether each is a vector."""
    total: int
    """How many fields it has."""


class _Counter:
    def StartObject(self, count: int) -> None:  # noqa: N802 - the generated code calls it so
        self.count = count


@cache
def _table_fields(name: str) -> TableFields:
    methods = [
        each for each in vars(getattr(_generated(name), name)) if each[0].isupper() and not each.startswith("GetRootAs")
    ]
    fields = [each for each in methods if each != "Init" and not each.endswith(("BufferHasIdentifier", "IsNone"))]
    plain = [each for each in fields if not each.endswith(("AsNumpy", "Length"))]
    counter = _Counter()
    getattr(_generated(name), f"{name}Start")(counter)
    return TableFields({each: f"{each}Length" in methods for each in plain}, counter.count)


def table_of_version(table: Table, count: int, what: str) -> Table:
    """Return a table that has no field beyond these. Raises UnsupportedFieldError: what another one says may count."""
    read = table.tables.read
    if (id(table.offsets), count) in read:
        return table
    if any(table.offsets[count:]) and not table.tables.lenient:
        raise UnsupportedFieldError(f"{what} has a field that the schema of the proof does not know")
    read.add((id(table.offsets), count))
    return table


def fields(table: Table, name: str | None) -> dict[str, object]:
    """All fields of a table of this kind, as values that compare. Raises UnsupportedFieldError for an unknown kind."""
    if name is None and table.tables.lenient:
        return {}
    if name is None:
        raise UnsupportedFieldError("the file has a table of a kind that the schema of the proof does not know")
    return _fields(name, table.data, table.place, table)


def _fields(name: str, data: Any, place: int, table: Table) -> dict[str, object]:  # noqa: ANN401 - bytes of any kind
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
    """Return a vector of numbers or tables; None for one that is not given."""
    if getattr(reader, f"{name}IsNone")():
        return None
    if hasattr(reader, f"{name}AsNumpy"):
        return tuple(getattr(reader, f"{name}AsNumpy")().tolist())
    get = getattr(reader, name)
    return tuple(_plain(get(index), None, table) for index in range(getattr(reader, f"{name}Length")()))


def _value(reader: Any, name: str, table: Table) -> object:  # noqa: ANN401 - generated, without types
    value = getattr(reader, name)()
    kind = _UNIONS[name].get(getattr(reader, f"{name}Type")()) if isinstance(value, Place) else None
    return _plain(value, kind, table)


def _plain(value: Any, kind: str | None, table: Table) -> object:  # noqa: ANN401 - a field of any type
    if isinstance(value, Place):
        return (kind, tuple(_inner(kind or "", value, table).items()))
    if hasattr(value, "_tab"):
        name = type(value).__name__
        return (name, tuple(_inner(name, value._tab, table).items()))  # noqa: SLF001 - nothing else says where it begins
    return value.hex() if isinstance(value, float) else value


def _inner(name: str, place: Place, table: Table) -> dict[str, object]:
    return _fields(name, table.data, place.Pos, table.tables.at(place.Pos))

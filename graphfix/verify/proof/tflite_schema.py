"""TFLite's schema as the package `tflite` has it, which is no runtime: names by number, and whole tables as values."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import tflite
from flatbuffers.table import Table as Place

from graphfix.verify.proof.outcome import UnprovedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.verify.proof.tflite_tables import Table


def _numbered(enumeration: type) -> dict[int, str]:
    return {code: name for name, code in vars(enumeration).items() if isinstance(code, int)}


OPERATORS: Mapping[int, str] = _numbered(tflite.BuiltinOperator)
TYPES: Mapping[int, str] = {code: name.lower() for code, name in _numbered(tflite.TensorType).items()}
OPTIONS: Mapping[int, str] = _numbered(tflite.BuiltinOptions)
OPTIONS_2: Mapping[int, str] = _numbered(tflite.BuiltinOptions2)
DETAILS: Mapping[int, str] = _numbered(tflite.QuantizationDetails)
CUSTOM: int = tflite.BuiltinOperator.CUSTOM
_UNIONS: Mapping[str, Mapping[int, str]] = dict.fromkeys(
    ("ArraySegments", "ArrayIndices"), _numbered(tflite.SparseIndexVector)
)
"""The tables that a field may hold whose kind another field tells."""


class Form(NamedTuple):
    """What the schema says of a table."""

    vectors: Mapping[str, bool]
    """The fields by name, in order, and whether each is a vector."""
    total: int
    """How many fields it has."""


class _Counter:
    def StartObject(self, count: int) -> None:  # noqa: N802 - the generated code calls it so
        self.count = count


@cache
def _form(name: str) -> Form:
    methods = [each for each in vars(getattr(tflite, name)) if each[0].isupper() and not each.startswith("GetRootAs")]
    fields = [each for each in methods if each != "Init" and not each.endswith(("BufferHasIdentifier", "IsNone"))]
    plain = [each for each in fields if not each.endswith(("AsNumpy", "Length"))]
    counter = _Counter()
    getattr(tflite, f"{name}Start")(counter)
    return Form({each: f"{each}Length" in methods for each in plain}, counter.count)


def known(table: Table, count: int, what: str) -> Table:
    """Give a table that has no field beyond these. Raises UnprovedError: what another one says may count."""
    if any(table.offsets[count:]):
        raise UnprovedError(f"{what} has a field that the schema of the proof does not know")
    return table


def fields(table: Table, name: str | None) -> dict[str, object]:
    """Give all fields of a table of this kind, as values that compare. Raises UnprovedError for an unknown kind."""
    if name is None or not hasattr(tflite, name):
        raise UnprovedError("the file has a table of a kind that the schema of the proof does not know")
    return _fields(name, table.data, table.place, table)


def _fields(name: str, data: Any, place: int, table: Table) -> dict[str, object]:  # noqa: ANN401 - bytes of any kind
    form = _form(name)
    known(table, form.total, f"a table of {name}")
    reader = getattr(tflite, name)()
    reader.Init(data, place)
    return {
        each[0].lower() + each[1:]: _vector(reader, each, table) if vector else _value(reader, each, table)
        for each, vector in form.vectors.items()
    }


def _vector(reader: Any, name: str, table: Table) -> object:  # noqa: ANN401 - generated, without types
    """Give a vector of numbers or tables; None for one that is not given."""
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
        return (name, tuple(_inner(name, value._tab, table).items()))  # noqa: SLF001 - where it begins is told nowhere else
    return value.hex() if isinstance(value, float) else value


def _inner(name: str, place: Place, table: Table) -> dict[str, object]:
    return _fields(name, table.data, place.Pos, table.tables.at(place.Pos))

"""The table of operator definitions holds what the installed onnx says, each operator, version and field of it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import onnx
import pytest
import schemas_table
from onnx import AttributeProto, ModelProto, TensorProto, helper
from onnx.defs import OpSchema
from onnx.helper import get_attribute_value

import graphfix
from graphfix.formats.onnx import schemas
from graphfix.formats.onnx.schemas import Attribute, Parameter, Schema
from graphfix.results import GraphfixError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from graphfix.formats.onnx.schemas import Option, Value

OPTIONS: dict[OpSchema.FormalParameterOption, Option] = {
    OpSchema.FormalParameterOption.Single: "single",
    OpSchema.FormalParameterOption.Optional: "optional",
    OpSchema.FormalParameterOption.Variadic: "variadic",
}
OF_THE_TABLE = pytest.mark.needs_release("onnx>=1.23")
"""The table has the operator sets up to 28; an older onnx knows none above 24 to 27."""
UNKNOWN = [":Nothing", "ai.onnx:Add", "x:Add"]


@cache
def by_onnx() -> dict[str, dict[int, Schema]]:
    """Each operator of the installed onnx by `domain:name`, each version of it as a record of the table."""
    found: dict[str, dict[int, Schema]] = {}
    for known in onnx.defs.get_all_schemas_with_history():
        found.setdefault(f"{known.domain}:{known.name}", {})[known.since_version] = Schema(
            known.since_version,
            known.deprecated,
            tuple(parameter(each) for each in known.inputs),
            tuple(parameter(each) for each in known.outputs),
            range(known.min_input, known.max_input + 1),
            range(known.min_output, known.max_output + 1),
            {name: attribute(each) for name, each in known.attributes.items()},
        )
    return found


def parameter(known: OpSchema.FormalParameter) -> Parameter:
    return Parameter(known.type_str, tuple(sorted(known.types)), OPTIONS[known.option])


def attribute(known: OpSchema.Attribute) -> Attribute:
    stated, kind = known.default_value, AttributeProto.AttributeType.Value(known.type.name)
    assert stated.type in (AttributeProto.UNDEFINED, kind)
    return Attribute(kind, known.required, text(get_attribute_value(stated)) if stated.type else None)


def text(value: float | bytes | list[int] | list[bytes]) -> Value:
    """A default as the table has it."""
    if isinstance(value, list):
        return tuple(each.decode() if isinstance(each, bytes) else each for each in value)
    return value.decode() if isinstance(value, bytes) else value


def differences() -> Iterator[str]:
    """Where table and installed onnx disagree: the newest version, the operators, each definition."""
    newest = onnx.defs.onnx_opset_version()
    if newest != schemas.newest():
        table, installed = f"the table is of operator set {schemas.newest()}", f"the installed onnx of {newest}"
        yield f"{table}, {installed}: install the one, or run scripts/schemas_table.py"
    rows = {name: [int(row.partition(" ")[0]) for row in rows] for name, rows in schemas._operators().items()}
    yield from sorted(rows.keys() ^ by_onnx().keys())
    for name, versions in by_onnx().items():
        if rows.get(name) != sorted(versions):
            yield f"the versions of {name}"
        domain, _, op = name.partition(":")
        yield from (
            f"{name} {since}" for since, known in versions.items() if schemas.schema(op, domain, since) != known
        )


@OF_THE_TABLE
def test_each_operator_is_defined_as_in_the_installed_onnx() -> None:
    assert list(differences()) == []


@OF_THE_TABLE
def test_the_file_is_what_the_script_writes() -> None:
    assert schemas.TABLE.read_text(encoding="utf-8") == schemas_table.table()


FAULTS = {
    "the newest version": ("\n\n28\n\n", "\n\n29\n\n"),
    "an operator is missing": ("\n\n:Abs\n", "\n\n:Absolute\n"),
    "a version": ("\n13 | T | T | T=37 |\n\n:Acos\n", "\n12 | T | T | T=37 |\n\n:Acos\n"),
    "a version is missing": ("\n13 | T | T | T=37 |\n\n:Acos\n", "\n\n:Acos\n"),
    "one version more": ("\n\n:Acos\n", "\n14 | T | T | T=37 |\n\n:Acos\n"),
    "deprecated": ("10 deprecated |", "10 |"),
    "a set of types": ("\n0 double float float16\n", "\n0 double float\n"),
    "a fixed type": ("| tensor(int64) |", "| tensor(int32) |"),
    "a variable": (":Add\n1 | T T | T |", ":Add\n1 | T U | T |"),
    "an option": ("| T T T? | T |", "| T T T | T |"),
    "how few": ("V*", "V+"),
    "an attribute's name": ("keepdims:INT", "keepdim:INT"),
    "its type": ("keepdims:INT", "keepdims:FLOAT"),
    "that it must be there": ("to:INT!", "to:INT"),
    "its default": ("alpha:FLOAT=0.009999999776482582", "alpha:FLOAT=0.01"),
    "no default": ("keepdims:INT=1", "keepdims:INT"),
}


@pytest.fixture
def no_memory() -> Iterator[None]:
    """Nothing is remembered of another table, before and after."""
    remembered = (schemas._paragraphs, schemas._operators, schemas._types, schemas.schema)
    for each in remembered:
        each.cache_clear()
    yield
    for each in remembered:
        each.cache_clear()


@pytest.mark.usefixtures("no_memory")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong = FAULTS[fault]
    text = schemas.TABLE.read_text(encoding="utf-8")
    assert right in text
    (tmp_path / "schemas.txt").write_text(text.replace(right, wrong, 1), encoding="utf-8")
    monkeypatch.setattr(schemas, "TABLE", tmp_path / "schemas.txt")
    assert list(differences()) != []


@pytest.mark.parametrize(
    "version",
    [-1, 0, 1, 6, 7, 13, 21, *(pytest.param(each, marks=OF_THE_TABLE) for each in (28, 99, (1 << 31) - 1))],
)
def test_a_version_has_the_operators_that_it_has_by_onnx(version: int) -> None:
    for name in [*by_onnx(), *UNKNOWN]:
        domain, _, op = name.partition(":")
        known = onnx.defs.get_schema(op, version, domain) if onnx.defs.has(op, version, domain) else None
        ours = schemas.schema(op, domain, version)
        assert (None if ours is None else ours.since) == (None if known is None else known.since_version), name


def of_versions(standard: int, learning: int) -> ModelProto:
    nodes = [helper.make_node("Scaler", ["x"], ["s"], domain="ai.onnx.ml"), helper.make_node("Neg", ["s"], ["y"])]
    x, y = (helper.make_tensor_value_info(name, TensorProto.DOUBLE, [2, 3]) for name in "xy")
    imports = [helper.make_opsetid("", standard), helper.make_opsetid("ai.onnx.ml", learning)]
    return helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=imports)


def test_a_version_that_is_not_known_yet_is_refused_with_what_knows_it() -> None:
    newest = schemas.newest()
    assert graphfix.load(of_versions(newest, 1)).graphs[0].nodes[1].op == "Neg"
    with pytest.raises(GraphfixError, match=f"known are 1 to {newest}; install a newer graphfix, or export it"):
        graphfix.load(of_versions(newest + 1, 1))


@pytest.mark.parametrize("version", [99, 1 << 31, 1 << 62])
def test_another_operator_set_is_read_by_its_newest_definitions_however_its_version_is_counted(version: int) -> None:
    scaled = graphfix.load(of_versions(17, version)).graphs[0].nodes[0].results[0]
    assert scaled.dtype == "float32"  # Scaler gives floats for doubles


def test_kinds_are_those_of_files() -> None:
    listed = AttributeProto.AttributeType.items()
    assert {name: number for name, number in listed if name in schemas.KINDS} == schemas.KINDS

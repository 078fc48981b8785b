"""The tables of the schema, compared with those of the installed LiteRT."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

from graphfix.formats.tflite.edit import new_records
from graphfix.formats.tflite.file import options
from graphfix.formats.tflite.file import schema as layouts
from graphfix.formats.tflite.file.schema import CODES, OPERATORS, TENSOR_TYPES, Layout
from graphfix.shapes.dim import Dim, Shape
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


def test_a_layout_is_read_from_names_formats_and_defaults() -> None:
    made = layouts.layout("Made", "count:I axis:i=-1 on:?=1 off:? items:o")
    assert (made.table, made.names) == ("Made", ("count", "axis", "on", "off", "items"))
    assert (made.formats, made.defaults) == (("I", "i", "?", "?", "o"), (0, -1, True, False, 0))
    assert [type(default) for default in made.defaults] == [int, int, bool, bool, int]


READ = (
    "Conv2D DepthwiseConv2D Pool2D FullyConnected Softmax Concatenation Add ResizeBilinear Call Reshape SpaceToDepth"
    " Mul Gather Sub Reducer Squeeze StridedSlice Split Cast ArgMax TransposeConv Shape ArgMin Pack OneHot Unpack"
    " UnidirectionalSequenceLSTM ResizeNearestNeighbor SplitV If While DepthToSpace BatchMatMul Cumsum CallOnce Gelu"
).split()
READ_FURTHER = "StablehloBroadcastInDim StablehloWhile StableHLOComposite StablehloCase".split()


def test_the_options_that_rules_and_reports_ask_for_are_read() -> None:
    one, two = schema.BuiltinOptions, schema.BuiltinOptions2
    expected = {("builtin_options", getattr(one, f"{name}Options")) for name in READ}
    expected |= {("builtin_options_2", getattr(two, f"{name}Options")) for name in READ_FURTHER}
    assert options.LAYOUTS.keys() == expected


def test_options_that_name_subgraphs_are_known() -> None:
    assert {
        "subgraph", "then_subgraph_index", "else_subgraph_index", "cond_subgraph_index", "body_subgraph_index",
        "init_subgraph_index", "decomposition_subgraph_index", "branch_subgraph_indices",
    } == options.BODIES  # fmt: skip
    assert sorted(options.bodies({"then_subgraph_index": 1, "else_subgraph_index": 2, "axis": 7})) == [1, 2]
    assert options.bodies({"branch_subgraph_indices": (4, 5)}) == [4, 5]


OWN_NAMES = {
    "MAXIMUM": "MaximumMinimum", "MINIMUM": "MaximumMinimum", "RFFT2D": "Rfft2d", "SELECT_V2": "SelectV2",
    "BATCH_MATMUL": "BatchMatMul",
}  # fmt: skip


@pytest.mark.parametrize("op", sorted(new_records.KINDS))
def test_a_new_operator_has_its_member_of_the_union(op: str) -> None:
    name = OWN_NAMES.get(op) or "".join(part.capitalize() for part in op.split("_"))
    assert new_records.KINDS[op] == getattr(schema.BuiltinOptions, f"{name}Options")


def test_what_edits_are_made_of_has_options() -> None:
    assert new_records.KINDS.keys() >= {
        *"RESHAPE MUL SELECT_V2 RFFT2D TILE ADD SUB DIV EXP GREATER_EQUAL ABS MAXIMUM MINIMUM NOT_EQUAL".split(),
        *"QUANTIZE CAST NEG LESS GREATER EQUAL PAD SLICE BATCH_MATMUL CONCATENATION RESIZE_NEAREST_NEIGHBOR".split(),
    }


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("EXPAND_DIMS", new_records.EXPAND_DIMS, "ExpandDims"),
        ("SHAPE", new_records.SHAPE, "Shape"),
        ("GATHER", new_records.GATHER, "Gather"),
    ],
)
def test_a_movement_has_its_member_of_the_union(name: str, given: int, expected: str) -> None:
    assert given == getattr(schema.BuiltinOptions, f"{expected}Options"), name


@pytest.mark.parametrize(
    ("dtype", "tile", "broadcast_to"),
    [("float32", 1, 2), ("int32", 1, 2), ("bool", 1, 2), ("uint8", 1, 2), ("int8", 2, 3), ("int16", 1, 3)],
)
def test_a_new_operator_has_the_version_that_all_kernels_take(dtype: str, tile: int, broadcast_to: int) -> None:
    assert (new_records.tile_version(dtype), new_records.broadcast_to_version(dtype)) == (tile, broadcast_to)
    assert new_records.tile_version("string") == 2


def test_a_reshape_states_a_shape_with_one_free_size_and_without_a_0() -> None:
    free, more = Dim(("?n",)), Dim(("?m",))
    shapes = [Shape((2, 3)), Shape((2, free)), Shape(()), Shape((free, more)), Shape((2, 0)), Shape((0, free))]
    assert [new_records.reshapes(shape) for shape in shapes] == [True, True, True, False, False, False]


def test_a_tile_repeats_an_axis_of_1_and_leaves_others() -> None:
    assert new_records.repeats_of(Shape((2, 1, 1, 4)), Shape((2, 3, 1, 4))) == [1, 3, 1, 1]


def test_a_new_tensor_states_a_free_size_as_1_that_varies() -> None:
    free = new_records.new_tensor("t", Shape((2, Dim(("?n",)))), layouts.INT32)
    assert (free.shape, free.signature, free.has_rank, free.type) == ((2, 1), (2, -1), True, layouts.INT32)
    known = new_records.new_tensor("t", Shape((2, 3)), layouts.INT32)
    assert (known.shape, known.signature, known.buffer) == ((2, 3), None, 0)

"""CAST from and to floats: LiteRT's bits, and what TOSA makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import graphfix
from graphfix.graph.edits import Edit, New, Numbers, Replace
from graphfix.shapes.dim import Shape
from models.builders.tflite.text import model
from rewrites.tosa.cast_of_floats import plan
from tests.support.runtimes.tosa_loop import litert_reference, needs_tools, prepared, ran
from tests.support.tflite.fixing import fixed

if TYPE_CHECKING:
    from pathlib import Path

FLOATS = np.float32([-3e9, -300, -2.5, -1.5, -1, -0.7, -0.5, -0.0, 0, 0.5, 0.7, 1, 1.5, 2.5, 127.9, 300, 4e4, 3e9])
CASTS = {
    "int32": ("float32", "int32", FLOATS),
    "int16": ("float32", "int16", FLOATS),
    "int8": ("float32", "int8", FLOATS),
    "a truth value": ("float32", "bool", FLOATS),
    "of a truth value": ("bool", "float32", np.bool_([0, 1, 1, 0])),
}


def cast(of: str, to: str, count: int) -> bytes:
    types = f"in_data_type={of.upper()}, out_data_type={to.upper()}"
    return model(f"y:{to}[{count}] = CAST(x:{of}[{count}], {types})", quantization={"y": None})


@pytest.mark.ci
@pytest.mark.parametrize("name", CASTS)
def test_every_bit_is_the_same_in_litert_and_it_is_proved(name: str, tmp_path: Path) -> None:
    of, to, values = CASTS[name]
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    before.write_bytes(cast(of, to, len(values)))
    outcome = graphfix.fix_file(before, after, target="tosa")
    assert outcome.rewrites["cast-of-floats"] == 1
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    want, got = (litert_reference(path, {"x": values})["y"] for path in (before, after))
    np.testing.assert_array_equal(got, want)


STAYING = {
    "between whole numbers": "y:int32[4] = CAST(x:bool[4], in_data_type=BOOL, out_data_type=INT32)",
    "of whole numbers to floats": "y[4] = CAST(x:int32[4], in_data_type=INT32, out_data_type=FLOAT32)",
    "of a whole float": "f[4] = FLOOR(x[4])\ny:int32[4] = CAST(f, in_data_type=FLOAT32, out_data_type=INT32)",
}


@pytest.mark.parametrize("text", STAYING.values(), ids=STAYING)
def test_nothing_is_done(text: str) -> None:
    assert "cast-of-floats" not in fixed(text, target="tosa").counts


@pytest.mark.parametrize("name", CASTS)
def test_a_second_run_does_nothing(name: str) -> None:
    of, to, values = CASTS[name]
    assert fixed(cast(of, to, len(values)), target="tosa").counts["cast-of-floats"] == 1


@pytest.mark.ci
@needs_tools
@pytest.mark.parametrize("name", CASTS)
def test_tosa_computes_the_same(name: str, tmp_path: Path) -> None:
    of, to, values = CASTS[name]
    before = tmp_path / "before.tflite"
    before.write_bytes(cast(of, to, len(values)))
    np.testing.assert_array_equal(
        ran(prepared(before), values).outputs[0], litert_reference(before, {"x": values})["y"]
    )


# --- the plan alone ---------------------------------------------------------------------------------------------------

SIZES = Shape((2, 3))
ONES, ZEROS = (Numbers((number,), (1, 1), "float32") for number in (1.0, 0.0))


def planned(text: str) -> list[Edit]:
    return list(plan(graphfix.load(model(text)).graphs[0].nodes[-1]))


def test_a_truth_value_is_chosen_by_one_and_zero_and_a_float_compared_with_zero() -> None:
    (edit,) = planned("y[2,3] = CAST(x:bool[2,3], in_data_type=BOOL, out_data_type=FLOAT32)")
    assert edit == Replace(New("SELECT_V2", (0, ONES, ZEROS), SIZES, "float32"), "GF304")
    (edit,) = planned("y:bool[2,3] = CAST(x[2,3], in_data_type=FLOAT32, out_data_type=BOOL)")
    assert edit == Replace(New("NOT_EQUAL", (0, ZEROS), SIZES, "bool"), "GF304")


def test_what_is_behind_the_point_is_cut_off_towards_zero() -> None:
    (edit,) = planned("y:int8[2,3] = CAST(x[2,3], in_data_type=FLOAT32, out_data_type=INT8)")
    assert isinstance(edit, Replace)
    floor = New("FLOOR", (New("ABS", (0,), SIZES, "float32"),), SIZES, "float32")
    positive = New("GREATER_EQUAL", (0, ZEROS), SIZES, "bool")
    cut = New("SELECT_V2", (positive, floor, New("NEG", (floor,), SIZES, "float32")), SIZES, "float32")
    assert (edit.code, edit.node.op, edit.node.operands, edit.node.dtype) == ("GF304", "CAST", (cut,), "int8")
    assert dict(edit.node.attributes)["out_data_type"] is not None


SOURCES = {
    "CEIL(x[2,3])": True,
    "ROUND(x[2,3])": True,
    "FLOOR(x[2,3])": True,
    "ABS(x[2,3])": False,
    "NEG(w)": True,
    "NEG(x[2,3])": False,
    "SELECT_V2(c:bool[2,3], w, w)": True,
    "SELECT_V2(c:bool[2,3], w, x[2,3])": False,
    "SELECT_V2(c:bool[2,3], x[2,3], w)": False,
}


@pytest.mark.parametrize(("made", "whole"), SOURCES.items(), ids=SOURCES)
def test_floats_that_are_whole_by_what_made_them_are_cast_as_they_are(made: str, whole: bool) -> None:
    text = f"w[2,3] = FLOOR(v[2,3])\nf[2,3] = {made}\ny:int32[2,3] = CAST(f, in_data_type=FLOAT32, out_data_type=INT32)"
    assert (planned(text) == []) == whole

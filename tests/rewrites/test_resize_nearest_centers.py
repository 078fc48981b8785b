"""A nearest RESIZE by the old coordinates: when it is stated by the centers, LiteRT's bits, and TOSA's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import graphfix
from graphfix.graph.edits import New, Replace
from graphfix.shapes.dim import Shape
from models.builders.tflite.text import model
from rewrites.tosa.resize_nearest_centers import plan
from tests.support.notation import node
from tests.support.proving import prove
from tests.support.runtimes.tosa_loop import litert_reference, needs_tools, prepared, ran, tflite
from tests.support.tflite.fixing import fixed

if TYPE_CHECKING:
    from pathlib import Path

TEXT = (
    "y:{t}[1,{rows},{columns},3] = RESIZE_NEAREST_NEIGHBOR(x:{t}[1,4,5,3], s:const:int32[2]{{{rows},{columns}}}{more})"
)


def resized(rows: int, columns: int, dtype: str = "float32", more: str = "") -> str:
    return TEXT.format(rows=rows, columns=columns, t=dtype, more=more)


POWERS = {"by 2": (8, 10), "by 4 and 1": (16, 5), "by 8 and 2": (32, 10), "by 1": (4, 5)}
IMAGE = np.random.default_rng(0).uniform(-2, 2, (1, 4, 5, 3)).astype(np.float32)


@pytest.mark.ci
@pytest.mark.parametrize("dtype", ["float32", "int8", "int16"])
@pytest.mark.parametrize("sizes", POWERS.values(), ids=POWERS)
def test_by_a_power_of_2_the_centers_choose_the_same(sizes: tuple[int, int], dtype: str, tmp_path: Path) -> None:
    before, after = tflite(tmp_path, resized(*sizes, dtype)), tmp_path / "after.tflite"
    outcome = graphfix.fix_file(before, after, target="tosa")
    assert outcome.rewrites["resize-nearest-centers"] == 1
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"


@pytest.mark.parametrize("size", ["8,10", "4,5", "4,20"])
def test_the_plan_sets_the_option_alone(size: str) -> None:
    given = f"y[1,{size},3] = tflite.RESIZE_NEAREST_NEIGHBOR(x[1,4,5,3], s:const:int32[2]{{{size}}})"
    (edit,) = plan(node(given))
    shape = Shape((1, *map(int, size.split(",")), 3))
    new = New("RESIZE_NEAREST_NEIGHBOR", (0, 1), shape, "float32", (("half_pixel_centers", True),), version=1)
    assert edit == Replace(new, "GF304")


STAYING = {
    "by 3": resized(12, 10),
    "smaller": resized(2, 5),
    "by centers": resized(8, 10, more=", half_pixel_centers=True"),
    "by corners": resized(8, 10, more=", align_corners=True"),
    "columns alone by 3": resized(8, 15),
    "columns alone by no whole number": resized(8, 6),
}


@pytest.mark.parametrize("text", STAYING.values(), ids=STAYING)
def test_others_stay(text: str) -> None:
    assert "resize-nearest-centers" not in fixed(text, target="tosa").counts


def test_a_second_run_does_nothing() -> None:
    assert fixed(resized(8, 10), target="tosa").counts == {"resize-nearest-centers": 1}


OTHERS = {
    "by 3": (12, 10, ", half_pixel_centers=True"),
    "smaller": (2, 5, ", half_pixel_centers=True"),
    "by corners": (8, 10, ", align_corners=True"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_coordinates_are_not_proved(name: str, tmp_path: Path) -> None:
    rows, columns, more = OTHERS[name]
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    before.write_bytes(model(resized(rows, columns)))
    after.write_bytes(model(resized(rows, columns, more=more)))
    assert prove(before, after, tflite=True).status == "not proved"


@pytest.mark.ci
@needs_tools
def test_tosa_computes_the_same(tmp_path: Path) -> None:
    before = tflite(tmp_path, resized(8, 20))
    want = litert_reference(before, {"x": IMAGE})["y"]
    assert not np.array_equal(ran(before, IMAGE).outputs[0], want), "the converter gets it right: the rewrite may go"
    np.testing.assert_array_equal(ran(prepared(before), IMAGE).outputs[0], want)


def test_an_image_that_is_a_constant_is_resized_as_any_other() -> None:
    """The node reads constants alone, so the view is built anew behind the edit, and must say what the edit wrote."""
    text = "y:uint8[1,4,4,1] = RESIZE_NEAREST_NEIGHBOR(x:const:uint8[1,2,2,1]{1,1,1,0}, s:const:int32[2]{4,4})"
    assert fixed(text, target="tosa").counts["resize-nearest-centers"] == 1


@pytest.mark.parametrize(("given", "made"), [("1,N,5,3", "1,8,10,3"), ("1,4,5,3", "1,?,10,3"), ("1,0,5,3", "1,0,10,3")])
def test_a_size_that_is_not_known_or_0_stays(given: str, made: str) -> None:
    text = f"y[{made}] = tflite.RESIZE_NEAREST_NEIGHBOR(x[{given}], s:const:int32[2]{{8,10}})"
    assert list(plan(node(text))) == []


def test_the_version_stays() -> None:
    given = node("y[1,8,10,3] = tflite.RESIZE_NEAREST_NEIGHBOR(x[1,4,5,3], s:const:int32[2]{8,10})")
    (edit,) = plan(replace(given, version=4))
    assert isinstance(edit, Replace)
    assert edit.node.version == 4

"""What the runs read of a model's file alone: its inputs, and those of its original that were set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from graphfix.checker.runs.static_model import static_onnx, static_tflite
from graphfix.runtimes.session import ModelDetails, TensorDetails
from models.builders.tflite.text import model as tflite
from tests.support.notation import model

if TYPE_CHECKING:
    from pathlib import Path

ORIGINAL = "y[2] = Add(x[2], n[2])"


@pytest.mark.parametrize(
    ("text", "values", "inputs", "constant"),
    [
        (ORIGINAL, {}, ["x", "n"], []),
        (ORIGINAL, {"n": (1.0, 2.0)}, ["x"], [("n", [1, 2])]),
        ("y[2] = Add(x[2], n:const[2]{1.0,2.0})", {"n": (1.0, 2.0)}, ["x"], [("n", [1, 2])]),
    ],
    ids=["nothing is set", "an input that is still there", "one that is a constant now"],
)
def test_an_input_that_was_set_is_no_input_and_the_original_is_given_it(
    text: str, values: dict[str, tuple[float, ...]], inputs: list[str], constant: list[object], tmp_path: Path
) -> None:
    paths = tmp_path / "after.onnx", tmp_path / "before.onnx"
    for path, each in zip(paths, (text, ORIGINAL), strict=True):
        path.write_bytes(model(each).SerializeToString())
    interface = static_onnx(*paths, values).interface
    assert [spec.name for spec in interface.inputs] == inputs
    assert [(spec.name, array.tolist()) for spec, array in interface.constant] == constant


@pytest.mark.parametrize("values", [{}, {"n": (1.0, 2.0)}], ids=["nothing is set", "an input that is still there"])
def test_so_it_is_in_tflite(values: dict[str, tuple[float, ...]], tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(tflite("y[2] = ADD(x[2], n[2])"))
    x, n, y = (TensorDetails(name, index, "float32", (2,), (2,)) for index, name in enumerate("xny"))
    reported = ModelDetails((x, n), (y,))
    interface = static_tflite(path, reported, reported, values).interface
    assert [spec.name for spec in interface.inputs] == (["x"] if values else ["x", "n"])
    assert [(spec.name, array.tolist()) for spec, array in interface.constant] == ([("n", [1, 2])] if values else [])

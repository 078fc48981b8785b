"""Names of model files that a runtime does not take as they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graphfix import verify
from models.builders.tflite.text import model as tflite_model
from tests.support.notation import model
from tests.support.small_models import with_data

NAME = os.fsdecode(b"bad\xff")
"""A name that is not UTF-8."""


@pytest.mark.parametrize("form", ["onnx", "tflite", "onnx with a data file"])
def test_a_model_whose_name_is_not_utf8_is_run(tmp_path: Path, form: str) -> None:
    folder = tmp_path / NAME
    folder.mkdir()
    path = folder / f"{NAME}.model"
    if form == "onnx with a data file":
        with_data(tmp_path / "m.onnx", "m.data", 2.0).rename(path)
        (tmp_path / "m.data").rename(folder / "m.data")
    else:
        onnx = form == "onnx"
        text = "y[2,3] = Add(x[2,3], b[3])"
        path.write_bytes(model(text).SerializeToString() if onnx else tflite_model(text.replace("Add", "ADD")))
    verdict = verify(path, path, proof="without", runs=1)
    assert verdict.status == "equal"
    assert {run.status for run in verdict.runs} == {"equal"}

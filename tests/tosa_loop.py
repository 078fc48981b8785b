"""A model through the TOSA tools, as the tests of their runtime do it; those tests need the extra `tosa`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
import onnx.parser
import pytest
from tflite_text import model as tflite_model

from graphfix.runtimes import tosa

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

INSTALLED = tosa.versions()
ABSENT = sorted({tosa.CONVERTER, tosa.TORCH_MLIR, tosa.TOSA_TOOLS} - INSTALLED.keys())
needs_tools = pytest.mark.skipif(bool(ABSENT), reason=f"not installed: {', '.join(ABSENT)} (extra tosa)")


def tflite(folder: Path, text: str) -> Path:
    path = folder / "m.tflite"
    path.write_bytes(tflite_model(text))
    return path


def onnx_file(folder: Path, graph: str, *, opset: int = 17) -> Path:
    path = folder / "m.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {graph}'), path)
    return path


def validated(model: Path) -> tosa.Validation:
    """Convert and validate, with the flatbuffer beside the model."""
    tosa.convert(model, model.with_suffix(".mlirbc"))
    return tosa.validate(model.with_suffix(".mlirbc"), model.with_suffix(".tosa"))


def ran(model: Path, *inputs: np.ndarray) -> tosa.Answer:
    assert validated(model).errors == ()
    return tosa.run(model.with_suffix(".tosa"), inputs)

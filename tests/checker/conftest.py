"""Models for the checker, written as text in onnx's own notation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from tests.support.written import Written


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Write a model given as a graph's text, with initializers from arrays, and give its path."""
    count = iter(range(100))

    def write(text: str, *, opset: int = 17, domains: str = "", functions: str = "", **weights: np.ndarray) -> Path:
        header = f'<ir_version: {8 if opset > 7 else 3}, opset_import: ["" : {opset}{domains}]>'
        model = onnx.parser.parse_model(f"{header}\n{text}\n{functions}")
        for name, value in weights.items():
            model.graph.initializer.append(numpy_helper.from_array(value, name))
        path = tmp_path / f"m{next(count)}.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    return write

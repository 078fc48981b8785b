"""What onnxruntime is fed and returns."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest

from graphfix.runtimes.onnx.onnxruntime import load


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0, 2)], ids=str)
def test_what_numpy_has_no_type_for_is_fed_in_its_own_shape(shape: tuple[int, ...]) -> None:
    sizes = f"[{','.join(map(str, shape))}]" if shape else ""
    graph = f"g (bfloat16{sizes} x) => (float{sizes} y) {{ y = Cast <to = 1> (x) }}"
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {graph}')
    (numbers,) = load(model.SerializeToString()).run({"x": np.full(shape, 2, ml_dtypes.bfloat16)})
    assert np.shape(numbers) == shape  # type: ignore[arg-type]  # an array
    assert np.all(np.asarray(numbers) == 2)

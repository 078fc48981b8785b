"""The elements of ONNX tensors and their dtypes, beside what onnx makes of the same."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from graphfix.checker.files.onnx.tensors import elements, numpy_dtype

TYPES = {name: code for name, code in TensorProto.DataType.items() if name not in ("UNDEFINED", "STRING")}


@pytest.mark.parametrize("raw", [False, True], ids=["typed", "raw"])
@pytest.mark.parametrize("name", TYPES)
def test_elements_are_those_that_onnx_reads(name: str, raw: bool) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(TYPES[name])
    values = np.asarray([1, 0, 1, 1, 0, 1], np.float32).astype(dtype)
    if raw:
        tensor = numpy_helper.from_array(values.reshape(2, 3))
    else:
        tensor = helper.make_tensor("t", TYPES[name], [2, 3], values)
    expected, found = numpy_helper.to_array(tensor), elements(tensor)
    assert found is not None
    assert (found.dtype, found.shape, found.tobytes()) == (expected.dtype, (2, 3), expected.tobytes())


@pytest.mark.parametrize("name", TYPES)
def test_the_dtype_is_that_of_onnx(name: str) -> None:
    assert numpy_dtype(TYPES[name]) == helper.tensor_dtype_to_np_dtype(TYPES[name])
    assert numpy_dtype(TensorProto.STRING) == np.dtype(object)


@pytest.mark.parametrize(
    "tensor",
    [
        pytest.param(TensorProto(data_type=TensorProto.FLOAT, dims=[2], raw_data=b"\0" * 7), id="half an element"),
        pytest.param(TensorProto(data_type=TensorProto.FLOAT, dims=[3], raw_data=b"\0" * 8), id="too few bytes"),
        pytest.param(TensorProto(data_type=TensorProto.INT64, dims=[3], int64_data=[1]), id="too few numbers"),
        pytest.param(TensorProto(data_type=TensorProto.INT64, dims=[3]), id="left out when the file was read"),
        pytest.param(TensorProto(data_type=99, dims=[1], raw_data=b"\0"), id="an unknown type"),
        pytest.param(
            TensorProto(data_type=TensorProto.FLOAT, dims=[1], raw_data=b"\0" * 4, data_location=TensorProto.EXTERNAL),
            id="in another file",
        ),
    ],
)
def test_a_tensor_without_the_elements_that_it_declares_has_none(tensor: TensorProto) -> None:
    assert elements(tensor) is None

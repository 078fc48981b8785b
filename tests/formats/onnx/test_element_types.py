"""Element types that an attribute states: numbers, and the names that Cast has before operator set 6."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper

from graphfix.formats.onnx.infer.element_types import _code, _quantized


@pytest.mark.parametrize(
    ("stated", "code"),
    [
        (TensorProto.INT64, TensorProto.INT64),
        ("FLOAT", TensorProto.FLOAT),
        ("int32", TensorProto.INT32),
        ("nonsense", 0),
        ("", 0),
    ],
)
def test_a_type_is_a_number_or_a_name(stated: object, code: int) -> None:
    assert _code(helper.make_attribute("to", stated)) == code


def test_a_quantized_type_is_the_zero_points_else_the_attributes_else_uint8() -> None:
    stated = helper.make_attribute("output_dtype", TensorProto.INT4)
    unstated = helper.make_attribute("output_dtype", 0)
    assert _quantized([1, 1, TensorProto.INT8], stated) == TensorProto.INT8
    assert _quantized([1, 1, 0], stated) == TensorProto.INT4
    assert _quantized([1, 1], unstated) == TensorProto.UINT8
    assert _quantized([1, 1], None) == TensorProto.UINT8

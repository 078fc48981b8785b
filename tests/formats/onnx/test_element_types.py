"""Element types that an attribute states: numbers, and the names that Cast has before operator set 6."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper

from graphfix.formats.onnx.infer.element_types import _code, _like, _quantized
from tests.support.onnx.node_results import results


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


@pytest.mark.parametrize(
    ("like", "operands", "count", "code"),
    [
        ((0,), [0, 7], 1, 7),  # the last operand of the schema stands for all that follow
        ((0,), [5, 7], 1, 5),
        ((0,), [0, 7], 2, 0),
        ((1,), [5, 0, 7], 2, 7),
        ((1,), [5, 0, 7], 3, 0),
        ((0, 1), [0, 7, 9], 3, 7),
        ((1, 0), [6, 7], 3, 7),
        ((2,), [5], 3, 0),
        ((), [5], 1, 0),
    ],
)
def test_a_result_has_the_first_type_that_is_known_of_those_that_it_is_like(
    like: tuple[int, ...], operands: list[int], count: int, code: int
) -> None:
    assert _like(like, operands, count) == code


RESULTS = """
18: y = EyeLike(x:int64[2,4])  -> int64[2,4]
18: y = EyeLike(x:int64[2,4], dtype=1)  -> float32[2,4]
18: y = Bernoulli(x:float64[2])  -> float64[2]
18: y = Bernoulli(x[2], dtype=9)  -> bool[2]
18: y = RandomNormal(shape=[2])  -> float32[2]
18: y = RandomNormal(shape=[2], dtype=11)  -> float64[2]
18: y = RandomUniform(shape=[2])  -> float32[2]
18: y = RandomUniform(shape=[2], dtype=10)  -> float16[2]
18: y = RandomNormalLike(x:float16[2])  -> float16[2]
18: y = RandomNormalLike(x[2], dtype=11)  -> float64[2]
18: y = RandomUniformLike(x:float16[2])  -> float16[2]
18: y = RandomUniformLike(x[2], dtype=11)  -> float64[2]
18: y = Multinomial(x[2,5])  -> int32[2,1]
18: y = Multinomial(x[2,5], dtype=7)  -> int64[2,1]
18: y = HannWindow(n:int64[])  -> float32[?]
18: y = HannWindow(n:int64[], output_datatype=11)  -> float64[?]
18: y = HammingWindow(n:int64[])  -> float32[?]
18: y = HammingWindow(n:int64[], output_datatype=11)  -> float64[?]
18: y = BlackmanWindow(n:int64[])  -> float32[?]
18: y = BlackmanWindow(n:int64[], output_datatype=11)  -> float64[?]
18: y = MelWeightMatrix(a:int64[], b:int64[], c:int64[], d[], e[])  -> float32[?,?]
18: y = MelWeightMatrix(a:int64[], b:int64[], c:int64[], d[], e[], output_datatype=11)  -> float64[?,?]
19: y = DequantizeLinear(x:int8[2], s:float16[])  -> float16[2]
23: y = DequantizeLinear(x:int8[2], s:float16[], output_dtype=1)  -> float32[2]
18: y = QuantizeLinear(x[2], s[])  -> uint8[2]
18: y = QuantizeLinear(x[2], s[], z:int8[])  -> int8[2]
21: y = QuantizeLinear(x[2], s[], output_dtype=4)  -> uint16[2]
21: y = QuantizeLinear(x[2], s[], z:int8[])  -> int8[2]
18: y = Cast(x[2], to=10)  -> float16[2]
5: y = Cast(x[2], to="float16")  -> float16[2]
5: y = Cast(x[2], to="nothing")  -> ?[2]
18: y = ConstantOfShape(s:int64[2])  -> float32[?,?]
18: y, m, d = LayerNormalization(x:float16[2,4], s:float16[4])  -> float16[2,4] float32[2,1] float32[2,1]
18: y, m, d = LayerNormalization(x:float16[2,4], s:float16[4], stash_type=10)  -> float16[2,4] float16[2,1] float16[2,1]
18: y = Equal(x[2], z[2])  -> bool[2]
18: y = Shape(x[2])  -> int64[1]
18: y = Where(c:bool[2], x:float16[2], z:float16[2])  -> float16[2]
18: y = Concat(x:int16[2], z:int16[2], axis=0)  -> int16[4]
18: y, i = TopK(x:int16[2], k:int64[1])  -> int16[?] int64[?]
18: y, m = Dropout(x:float16[2])  -> float16[2] bool[2]
18: y, s, z = DynamicQuantizeLinear(x[2])  -> uint8[2] float32[] uint8[]
18: y = CastLike(x[2], z:int16[1])  -> int16[2]
18: y, a = MaxPool(x:float16[1,1,4], kernel_shape=[2])  -> float16[1,1,3] int64[1,1,3]
18: y = ArgMax(x:float16[4])  -> int64[1]
"""
"""A version, a node, and the types and shapes of its results."""


@pytest.mark.parametrize("row", RESULTS.strip().split("\n"))
def test_a_result_has_the_type_that_the_specification_says(row: str) -> None:
    version, _, rest = row.partition(": ")
    text, _, found = rest.partition("  -> ")
    assert results(text, opset=int(version)) == found

"""The elements of ONNX tensors and their dtypes, beside what onnx makes of the same."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from graphfix.checker.files.onnx.tensors import byte_size, elements, fault, numpy_dtype, odd_location, width

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


T = TensorProto
RAW, INT32S, FLOATS = (T.DESCRIPTOR.fields_by_name[name].number for name in ("raw_data", "int32_data", "float_data"))
BYTES = "holds other bytes than its type and shape ask for"
NUMBER = "holds another number of elements than its shape asks for"
LARGE = "holds numbers too large"
BOTH = "says both that it lies in another file and that it does not"
OCTAL = "says where it lies by a number that begins with 0, which some libraries read as octal"
FORM = "says where it lies in a form that runtimes do not know"


def made(kind: int, dims: list[int], **held: object) -> TensorProto:
    return TensorProto(data_type=kind, dims=dims, **held)


def external(kind: int = T.FLOAT, *entries: tuple[str, str], **held: object) -> TensorProto:
    tensor = made(kind, [2], **{"data_location": T.EXTERNAL, **held})
    for key, value in entries:
        tensor.external_data.add(key=key, value=value)
    return tensor


def part(tensor: TensorProto) -> TensorProto:
    tensor.segment.begin = 0
    return tensor


AT = ("location", "w")


@pytest.mark.parametrize(
    ("tensor", "cut", "said"),
    [
        (made(T.FLOAT, [2], raw_data=bytes(8)), None, None),
        (made(T.FLOAT, [2], raw_data=bytes(7)), None, BYTES),
        (made(T.FLOAT, [2], raw_data=bytes(9)), None, BYTES),
        (made(T.INT4, [3], raw_data=bytes(2)), None, None),
        (made(T.INT4, [3], raw_data=bytes(3)), None, BYTES),
        (made(T.STRING, [2], raw_data=bytes(2)), None, BYTES),
        (made(T.STRING, [0], raw_data=b""), None, BYTES),
        (made(T.UINT8, [2], raw_data=b"\2\3"), None, None),
        (made(T.FLOAT, [0, 3]), None, None),
        (made(T.FLOAT, [2]), None, "holds no elements"),
        (made(T.FLOAT, []), None, "holds no elements"),
        (made(T.FLOAT, [2, -1]), None, "has a negative size"),
        (made(T.FLOAT, [0, -1]), None, "has a negative size"),
        (made(T.FLOAT, [0, 1 << 58]), None, None),
        (made(T.FLOAT, [0, (1 << 58) + 1]), None, "has sizes too large"),
        (made(T.FLOAT, [0, 1 << 30, 1 << 29]), None, "has sizes too large"),
        (part(made(T.FLOAT, [1], float_data=[1])), None, "is a part of a tensor"),
        (made(99, [0]), None, "has a type that not every runtime knows"),
        (made(T.COMPLEX64, [0]), None, "has a type that not every runtime knows"),
        (made(T.FLOAT, [1], raw_data=bytes(4), float_data=[1]), None, "holds elements in two fields"),
        (made(T.BOOL, [2], raw_data=b"\0\1"), None, None),
        (made(T.BOOL, [2], raw_data=b"\0\2"), None, "holds neither true nor false"),
        (made(T.BOOL, [1], raw_data=b"\0\1"), None, BYTES),
        # each type in its field
        (made(T.STRING, [2], string_data=[b"a", b"b"]), None, None),
        (made(T.STRING, [2], string_data=[b"a"]), None, NUMBER),
        (made(T.FLOAT, [2], float_data=[1, 2]), None, None),
        (made(T.FLOAT, [2], int32_data=[1, 2]), None, "holds elements in a field of another type"),
        (made(T.INT64, [2], int64_data=[1, 2]), None, None),
        (made(T.DOUBLE, [2], double_data=[1, 2]), None, None),
        (made(T.UINT32, [1], uint64_data=[1]), None, None),
        (made(T.UINT64, [1], uint64_data=[1]), None, None),
        (made(T.INT32, [1], int64_data=[1]), None, "holds elements in a field of another type"),
        (made(T.INT32, [2], int32_data=[1, 2, 3]), None, NUMBER),
        (made(T.INT32, [2], int32_data=[1]), None, NUMBER),
        (made(T.INT32, [2], int32_data=[-(1 << 31), (1 << 31) - 1]), None, None),
        (made(T.INT4, [3], int32_data=[1, 2]), None, None),
        (made(T.INT4, [3], int32_data=[1, 2, 3]), None, NUMBER),
        (made(T.UINT4, [4], int32_data=[1, 2]), None, None),
        (made(T.UINT8, [2], int32_data=[0, 255]), None, None),
        (made(T.UINT8, [2], int32_data=[0, 256]), None, LARGE),
        (made(T.UINT8, [2], int32_data=[-1, 0]), None, LARGE),
        (made(T.INT8, [2], int32_data=[-128, 127]), None, None),
        (made(T.INT8, [2], int32_data=[-129, 0]), None, LARGE),
        (made(T.INT8, [2], int32_data=[0, 128]), None, LARGE),
        (made(T.INT16, [2], int32_data=[-32768, 32767]), None, None),
        (made(T.INT16, [1], int32_data=[32768]), None, LARGE),
        (made(T.FLOAT16, [1], int32_data=[65535]), None, None),
        (made(T.FLOAT16, [1], int32_data=[65536]), None, LARGE),
        (made(T.BOOL, [2], int32_data=[0, 1]), None, None),
        (made(T.BOOL, [2], int32_data=[1, 2]), None, LARGE),
        (made(T.INT4, [1], int32_data=[127]), None, None),
        (made(T.INT4, [1], int32_data=[128]), None, LARGE),
        (made(T.UINT4, [1], int32_data=[255]), None, None),
        (made(T.UINT4, [1], int32_data=[256]), None, LARGE),
        # left out when the file was read
        (made(T.FLOAT, [2], string_data=[b"here"]), (RAW, 8), None),
        (made(T.FLOAT, [2], string_data=[b"here"]), (RAW, 9), BYTES),
        (made(T.BOOL, [2], string_data=[b"here"]), (RAW, 2), None),
        (made(T.FLOAT, [2], string_data=[b"here"]), (FLOATS, 1), None),
        (made(T.FLOAT, [2], string_data=[b"here"]), (INT32S, 8), "holds elements in a field of another type"),
        (made(T.FLOAT, [2], string_data=[b"here"], float_data=[1]), (RAW, 8), "holds elements in two fields"),
        # in another file
        (external(T.FLOAT, AT), None, None),
        (external(T.FLOAT, AT, ("offset", "0"), ("length", "80"), ("checksum", "012")), None, None),
        (external(T.FLOAT, ("location", "012")), None, None),
        (external(), None, BOTH),
        (external(T.FLOAT, AT, data_location=T.DEFAULT), None, BOTH),
        (external(T.STRING, AT), None, "lies in another file, and holds elements or strings"),
        (external(T.FLOAT, AT, raw_data=bytes(8)), None, "lies in another file, and holds elements or strings"),
        (external(T.FLOAT, AT, AT), None, FORM),
        (external(T.FLOAT, AT, ("size", "8")), None, FORM),
        (external(T.FLOAT, AT, ("offset", "08")), None, OCTAL),
        (external(T.FLOAT, AT, ("length", "00")), None, OCTAL),
    ],
)  # fmt: skip
def test_how_a_tensor_is_stored_is_right_or_has_one_fault(
    tensor: TensorProto, cut: tuple[int, int] | None, said: str | None
) -> None:
    assert fault(tensor, cut) == said


@pytest.mark.parametrize(
    ("location", "odd"),
    [
        *((name, False) for name in ("w.bin", "./w.bin", "a/w.bin", "a..b", ".w")),
        *((name, True) for name in ("", "a/", "a//b", "a/./b", "../w", "a/../w", "/w", "C:w", "a\\b", "a*b")),
    ],
)
def test_a_location_is_odd_where_it_is_no_plain_name_everywhere(location: str, odd: bool) -> None:
    assert odd_location(external(T.FLOAT, ("offset", "x*"), ("location", location))) == (location if odd else None)
    plain = external(T.FLOAT, ("location", location))
    plain.data_location = T.DEFAULT
    assert odd_location(plain) is None


@pytest.mark.parametrize(
    ("kind", "dims", "size", "bytes_"),
    [
        (T.FLOAT, [2, 3], 4, 24),
        (T.DOUBLE, [], 8, 8),
        (T.INT4, [3], 0, 2),
        (T.INT4, [4], 0, 2),
        (T.BFLOAT16, [5], 2, 10),
        (T.FLOAT8E5M2, [5], 0, 5),
        (T.STRING, [5], 0, 0),
        (T.COMPLEX64, [5], 8, 0),
        (T.FLOAT, [0, 3], 4, 0),
    ],
)
def test_bytes_of_elements_and_tensors(kind: int, dims: list[int], size: int, bytes_: int) -> None:
    tensor = made(kind, dims)
    assert (width(kind), byte_size(tensor)) == (size, bytes_)

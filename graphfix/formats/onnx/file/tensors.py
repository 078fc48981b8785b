"""Read and write the numbers of small tensors and of attributes without numpy, whose import takes longer than this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from struct import pack, unpack
from types import MappingProxyType
from typing import Any, Final

from graphfix.results.onnx_messages import AttributeProto, TensorProto

FORMATS: Final[Mapping[int, str]] = MappingProxyType(
    {
        TensorProto.FLOAT: "f", TensorProto.DOUBLE: "d", TensorProto.FLOAT16: "e", TensorProto.BOOL: "?",
        TensorProto.INT8: "b", TensorProto.INT16: "h", TensorProto.INT32: "i", TensorProto.INT64: "q",
        TensorProto.UINT8: "B", TensorProto.UINT16: "H", TensorProto.UINT32: "I", TensorProto.UINT64: "Q",
    }
)  # fmt: skip
"""For each element type, its format character in Python's `struct` module. Other types have none."""
FIELDS: Final[Mapping[int, str]] = MappingProxyType(
    {
        TensorProto.FLOAT: "float_data", TensorProto.DOUBLE: "double_data",
        TensorProto.INT32: "int32_data", TensorProto.INT64: "int64_data", TensorProto.UINT64: "uint64_data",
    }
)  # fmt: skip
"""For each element type, the field that stores the elements unchanged if `raw_data` does not store them."""


BITS: Final = {
    "FLOAT": 32, "DOUBLE": 64, "FLOAT16": 16, "BFLOAT16": 16,
    "INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64,
    "UINT8": 8, "UINT16": 16, "UINT32": 32, "UINT64": 64,
    "BOOL": 8, "COMPLEX64": 64, "COMPLEX128": 128,
    "INT4": 4, "UINT4": 4, "INT2": 2, "UINT2": 2, "FLOAT4E2M1": 4, "FLOAT6E2M3": 6, "FLOAT6E3M2": 6,
}  # fmt: skip
"""The bits of an element in raw_data (onnx.proto, TensorProto.raw_data). Types not listed, such as float8, have 8."""
BYTE: Final = 8


def byte_size(tensor: TensorProto) -> int:
    """Return the number of bytes of a tensor's elements in `raw_data` or in a data file.

    Strings are stored in neither.
    """
    bits = BITS.get(TensorProto.DataType.Name(tensor.data_type), BYTE)
    size: int = -(-prod(tensor.dims) * bits // BYTE)
    return size


def elements_of(tensor: TensorProto) -> tuple[Any, ...]:
    """Return the elements of a tensor in row-major order, as `numpy_helper.to_array` does.

    The elements are numbers, booleans or strings.

    The payload must be in the tensor, and its length must fit the dims.
    """
    form, name = FORMATS.get(tensor.data_type), FIELDS.get(tensor.data_type)
    if form is not None and tensor.HasField("raw_data"):
        return unpack(f"<{prod(tensor.dims)}{form}", tensor.raw_data)
    if name is not None:
        return tuple(getattr(tensor, name))
    from onnx.numpy_helper import to_array  # Packed and narrowed numbers, and strings, are rare.

    return tuple(to_array(tensor).reshape(-1).tolist())


def tensor_of(numbers: Sequence[float], element_type: int, dims: Sequence[int]) -> TensorProto:
    """Return an unnamed tensor that stores these elements in `raw_data`. The element type must be one of FORMATS."""
    raw = pack(f"<{len(numbers)}{FORMATS[element_type]}", *numbers)
    return TensorProto(dims=dims, data_type=TensorProto.DataType.ValueType(element_type), raw_data=raw)


def attribute_of(name: str, value: object) -> AttributeProto:
    """Return an attribute with this value, as `helper.make_attribute` does.

    Usual values (an int, a float, a str, a tensor, a list of ints) need no import of onnx.
    """
    made = AttributeProto(name=name)
    if isinstance(value, int):
        made.type, made.i = AttributeProto.INT, int(value)
    elif isinstance(value, float):
        made.type, made.f = AttributeProto.FLOAT, value
    elif isinstance(value, str):
        made.type, made.s = AttributeProto.STRING, value.encode()
    elif isinstance(value, TensorProto):
        made.type = AttributeProto.TENSOR
        made.t.CopyFrom(value)
    elif isinstance(value, (list, tuple)) and value and all(type(each) is int for each in value):
        made.type = AttributeProto.INTS
        made.ints.extend(value)
    else:
        # `make_attribute` supports every kind of value, and refuses other objects.
        from onnx.helper import make_attribute

        return make_attribute(name, value)
    return made

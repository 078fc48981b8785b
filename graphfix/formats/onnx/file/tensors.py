"""The numbers of small tensors and of attributes, read and written without numpy, which takes longer to import."""

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
"""By element type: its letter in the library's struct. Other types have none."""
FIELDS: Final[Mapping[int, str]] = MappingProxyType(
    {
        TensorProto.FLOAT: "float_data", TensorProto.DOUBLE: "double_data",
        TensorProto.INT32: "int32_data", TensorProto.INT64: "int64_data", TensorProto.UINT64: "uint64_data",
    }
)  # fmt: skip
"""By element type: the field whose numbers are the elements as they are, where `raw_data` does not hold them."""


BITS: Final = {
    "FLOAT": 32, "DOUBLE": 64, "FLOAT16": 16, "BFLOAT16": 16,
    "INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64,
    "UINT8": 8, "UINT16": 16, "UINT32": 32, "UINT64": 64,
    "BOOL": 8, "COMPLEX64": 64, "COMPLEX128": 128,
    "INT4": 4, "UINT4": 4, "INT2": 2, "UINT2": 2, "FLOAT4E2M1": 4, "FLOAT6E2M3": 6, "FLOAT6E3M2": 6,
}  # fmt: skip
"""Bits of an element in raw_data (onnx.proto, TensorProto.raw_data); an 8-bit float type has 8."""
BYTE: Final = 8


def byte_size(tensor: TensorProto) -> int:
    """Return the bytes of a tensor's elements in `raw_data` or in a data file. Texts are not stored in either."""
    bits = BITS.get(TensorProto.DataType.Name(tensor.data_type), BYTE)
    size: int = -(-prod(tensor.dims) * bits // BYTE)
    return size


def elements_of(tensor: TensorProto) -> tuple[Any, ...]:
    """The elements in row-major order: numbers, truth values or texts, as `numpy_helper.to_array` reads them.

    The payload must be in the tensor, and as long as its dims say.
    """
    form, name = FORMATS.get(tensor.data_type), FIELDS.get(tensor.data_type)
    if form is not None and tensor.HasField("raw_data"):
        return unpack(f"<{prod(tensor.dims)}{form}", tensor.raw_data)
    if name is not None:
        return tuple(getattr(tensor, name))
    from onnx.numpy_helper import to_array  # packed or narrowed numbers, and text: they are rare

    return tuple(to_array(tensor).reshape(-1).tolist())


def tensor_of(numbers: Sequence[float], element_type: int, dims: Sequence[int]) -> TensorProto:
    """A tensor without a name that holds these elements, of one of the types of FORMATS, in `raw_data`."""
    raw = pack(f"<{len(numbers)}{FORMATS[element_type]}", *numbers)
    return TensorProto(dims=dims, data_type=TensorProto.DataType.ValueType(element_type), raw_data=raw)


def attribute_of(name: str, value: object) -> AttributeProto:
    """An attribute that holds a value: what `helper.make_attribute` makes, without onnx where it is a usual one."""
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
        from onnx.helper import make_attribute  # it knows every kind of value, and refuses what is none

        return make_attribute(name, value)
    return made

"""Whether a tensor's payload is of the size that its shape and element type ask for."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final

from onnx import TensorProto

if TYPE_CHECKING:
    from graphfix.formats.onnx.file.payloads import Cut

ELEMENT_TYPES: Final = frozenset(TensorProto.DataType.values())
"""The known ones, and 0 for one that is not stated."""
BITS: Final = {
    "FLOAT": 32, "DOUBLE": 64, "FLOAT16": 16, "BFLOAT16": 16,
    "INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64,
    "UINT8": 8, "UINT16": 16, "UINT32": 32, "UINT64": 64,
    "BOOL": 8, "COMPLEX64": 64, "COMPLEX128": 128,
    "INT4": 4, "UINT4": 4, "INT2": 2, "UINT2": 2, "FLOAT4E2M1": 4, "FLOAT6E2M3": 6, "FLOAT6E3M2": 6,
}  # fmt: skip
"""Bits of an element in raw_data (onnx.proto, TensorProto.raw_data); an 8-bit float type has 8."""
BYTE: Final = 8
FIELDS: Final = {
    "FLOAT": "float_data", "COMPLEX64": "float_data", "DOUBLE": "double_data", "COMPLEX128": "double_data",
    "INT64": "int64_data", "UINT32": "uint64_data", "UINT64": "uint64_data", "STRING": "string_data",
}  # fmt: skip
"""The typed field of an element type; all others are in int32_data (onnx.proto, TensorProto)."""


def misfit(tensor: TensorProto, cut: Cut | None) -> str | None:
    """Say what is wrong with a tensor, None where nothing is. `cut` is its payload where that was cut out."""
    code = tensor.data_type
    if code not in ELEMENT_TYPES or code == TensorProto.UNDEFINED:
        return f"has the unknown element type {code}"
    if any(size < 0 for size in tensor.dims):
        return f"has the shape {list(tensor.dims)}"
    if tensor.data_location == TensorProto.EXTERNAL:
        return None
    elements = prod(tensor.dims)
    have, want, unit = _sizes(tensor, cut, elements)
    if have is None or have == want:
        return None
    return f"holds {have} {unit}, its shape {list(tensor.dims)} asks for {want}"


def _sizes(tensor: TensorProto, cut: Cut | None, elements: int) -> tuple[int | None, int, str]:
    """What there is (None where it was cut out uncounted), what there should be, and of what."""
    name = TensorProto.DataType.Name(tensor.data_type)
    bits = BITS.get(name, BYTE)
    if cut is not None:
        return (None if cut.raw is None else cut.raw[1] - cut.raw[0]), -(-elements * bits // BYTE), "bytes"
    if tensor.HasField("raw_data") and name != "STRING":
        return len(tensor.raw_data), -(-elements * bits // BYTE), "bytes"
    count = len(getattr(tensor, FIELDS.get(name, "int32_data")))
    numbers = 2 * elements if name.startswith("COMPLEX") else -(-elements * min(bits, BYTE) // BYTE)
    return count, numbers, "elements" if name == "STRING" else "numbers"

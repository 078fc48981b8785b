"""The element types of ONNX tensors, and the check that a tensor is stored in the one form that all runtimes accept."""

from __future__ import annotations

from math import prod
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from graphfix.results.onnx_messages import TensorProto

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FLOATS, INT32S, STRINGS, INT64S, RAW, DOUBLES, UINT64S = 4, 5, 6, 7, 9, 10, 11
"""The numbers of the fields of a TensorProto that can contain elements."""
_FIELDS: Mapping[int, str] = {
    FLOATS: "float_data", INT32S: "int32_data", STRINGS: "string_data", INT64S: "int64_data",
    DOUBLES: "double_data", UINT64S: "uint64_data",
}  # fmt: skip
_HOLDING = {*_FIELDS, RAW}


class ElementType(NamedTuple):
    """An element type of ONNX tensors."""

    bits: int
    """Bits of one element."""
    dtype: str | None
    """numpy's dtype; None for a type that numpy lacks."""
    is_known: bool = True
    """Whether every maintained runtime can store tensors of this type."""
    by_value: bool = True
    """Whether constants are compared by their elements, whichever field stores the elements.

    Constants of other types are compared as they are stored.
    """


ELEMENT_TYPES: Mapping[int, ElementType] = {
    TensorProto.FLOAT: ElementType(32, "<f4"),
    TensorProto.UINT8: ElementType(8, "u1"),
    TensorProto.INT8: ElementType(8, "i1"),
    TensorProto.UINT16: ElementType(16, "<u2"),
    TensorProto.INT16: ElementType(16, "<i2"),
    TensorProto.INT32: ElementType(32, "<i4"),
    TensorProto.INT64: ElementType(64, "<i8"),
    TensorProto.BOOL: ElementType(8, "?"),
    TensorProto.FLOAT16: ElementType(16, "<f2"),
    TensorProto.DOUBLE: ElementType(64, "<f8"),
    TensorProto.UINT32: ElementType(32, "<u4"),
    TensorProto.UINT64: ElementType(64, "<u8"),
    TensorProto.COMPLEX64: ElementType(64, None, is_known=False),
    TensorProto.COMPLEX128: ElementType(128, None, is_known=False),
    TensorProto.BFLOAT16: ElementType(16, None),
    TensorProto.FLOAT8E4M3FN: ElementType(8, None, by_value=False),
    TensorProto.FLOAT8E4M3FNUZ: ElementType(8, None, by_value=False),
    TensorProto.FLOAT8E5M2: ElementType(8, None, by_value=False),
    TensorProto.FLOAT8E5M2FNUZ: ElementType(8, None, by_value=False),
    TensorProto.UINT4: ElementType(4, None, by_value=False),
    TensorProto.INT4: ElementType(4, None, by_value=False),
}
"""All element types with a fixed width. Strings have no fixed width."""
WIDTHS: Mapping[int, int] = {key: each.bits // 8 for key, each in ELEMENT_TYPES.items() if each.by_value}
"""Bytes of one element, for each type whose constants are compared by their elements."""
_BITS: Mapping[int, int] = {key: each.bits for key, each in ELEMENT_TYPES.items() if each.is_known}
_DTYPES: Mapping[int, str] = {
    TensorProto.STRING: "O",
    **{key: each.dtype for key, each in ELEMENT_TYPES.items() if each.dtype is not None},
}
_TYPED: Mapping[int, int] = {
    TensorProto.FLOAT: FLOATS, TensorProto.INT64: INT64S, TensorProto.DOUBLE: DOUBLES, TensorProto.UINT32: UINT64S,
    TensorProto.UINT64: UINT64S,
}  # fmt: skip
"""For each type whose elements are not in int32_data, the field that contains them."""
_UNCHANGED = frozenset({TensorProto.INT32, *_TYPED}) - {TensorProto.UINT32}
"""The types whose elements are in their typed field one by one: not converted to wider numbers, and not packed."""
_SIGNED = frozenset({TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT4})
_MOST = 1 << 58
"""The most elements of a tensor. Every runtime can count the bytes of that many elements."""
_KEYS = frozenset({"location", "offset", "length", "checksum"})


def fault(tensor: TensorProto, cut: tuple[int, int] | None) -> str | None:
    """Return why runtimes may read a tensor in different ways, or None if all runtimes read the tensor in one way.

    `cut` is (field number, number of bytes) of a payload that was dropped when the file was read, else None. The bytes
    of external data are not checked here, but by the caller that opens the data file.
    """
    external = tensor.data_location == TensorProto.EXTERNAL
    field_numbers = fields(tensor) - ({STRINGS} if cut else set()) | ({cut[0]} if cut else set())
    return _declared(tensor) or (_external(tensor, field_numbers) if external else _stored(tensor, field_numbers, cut))


def elements(tensor: TensorProto) -> np.ndarray[Any, Any] | None:
    """Return the elements that the tensor message contains, as an array of the tensor's shape.

    Returns None if the elements are in another file, were not read, or do not fit the type or shape.
    """
    if tensor.data_location != TensorProto.DEFAULT:
        return None
    dtype = _DTYPES.get(tensor.data_type, "O")
    try:
        if dtype != "O" and tensor.HasField("raw_data"):
            return np.frombuffer(tensor.raw_data, dtype).reshape(tensor.dims)
        if tensor.data_type in _UNCHANGED:
            field = _FIELDS[_TYPED.get(tensor.data_type, INT32S)]
            return np.asarray(getattr(tensor, field), dtype).reshape(tensor.dims)
        from onnx import numpy_helper  # The import is here because few models need it, and it takes 0.05 s.

        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError):
        return None


def numpy_dtype(data_type: int) -> np.dtype[Any]:
    """Return the dtype of an element type. For types that numpy lacks it is a dtype of ml_dtypes.

    Raises KeyError for an unknown type.
    """
    if data_type in _DTYPES:
        return np.dtype(_DTYPES[data_type])
    from onnx import helper  # The import is here because few models need it, and it takes 0.05 s.

    return np.dtype(helper.tensor_dtype_to_np_dtype(data_type))


def fields(tensor: TensorProto) -> set[int]:
    """Return the numbers of the fields that contain elements of the tensor."""
    return {descriptor.number for descriptor, _ in tensor.ListFields()} & _HOLDING


def _declared(tensor: TensorProto) -> str | None:
    """Return why a runtime may refuse a tensor's declaration, or None if every runtime accepts it.

    The declaration is the type, the sizes, and whether the elements are in another file.
    """
    if tensor.data_type != TensorProto.STRING and tensor.data_type not in _BITS:
        return "has a type that not every runtime knows"
    dims = list(tensor.dims)
    if dims and min(dims) < 0:
        return "has a negative size"
    if prod([dim or 1 for dim in dims]) > _MOST:
        return "has sizes too large"
    if tensor.HasField("segment"):
        return "is a part of a tensor"
    if (tensor.data_location == TensorProto.EXTERNAL) != bool(tensor.external_data):
        return "says both that it lies in another file and that it does not"
    return None


def width(data_type: int) -> int:
    """Return the bytes of one element; 0 for strings, and for types whose constants are compared as they are stored."""
    return WIDTHS.get(data_type, 0)


def byte_size(tensor: TensorProto) -> int:
    """Return how many bytes the tensor's type and shape need in a file; 0 for strings and unknown types."""
    bits: int = prod(tensor.dims) * _BITS.get(tensor.data_type, 0)
    return -(-bits // 8)


def _stored(tensor: TensorProto, field_numbers: set[int], cut: tuple[int, int] | None) -> str | None:
    """Return why the elements in the message do not fit the tensor's type and shape, or None if the elements fit.

    `field_numbers` contains the fields that have elements. `cut` is (field number, number of bytes) of a dropped
    payload.
    """
    if len(field_numbers) > 1:
        return "holds elements in two fields"
    number, count = next(iter(field_numbers), None), prod(tensor.dims)
    if number == RAW:
        length = cut[1] if cut else len(tensor.raw_data)
        right = tensor.data_type != TensorProto.STRING and length == byte_size(tensor)
        if tensor.data_type == TensorProto.BOOL and not cut and tensor.raw_data.strip(b"\0\1"):
            return "holds neither true nor false"
        return None if right else "holds other bytes than its type and shape ask for"
    if number is None:
        return None if not count else "holds no elements"
    typed = STRINGS if tensor.data_type == TensorProto.STRING else _TYPED.get(tensor.data_type, INT32S)
    if number != typed:
        return "holds elements in a field of another type"
    # The number of elements in a dropped payload is checked where that payload is read.
    return None if cut else _typed(tensor, number, count)


def holds_too_large(tensor: TensorProto) -> bool:
    """Return whether int32_data contains a number outside the range of the tensor's type.

    Runtimes convert such a number differently.
    """
    bits = max(_BITS.get(tensor.data_type, 32), 8)
    return not _in_range(tensor.int32_data, bits, tensor.data_type)


def _typed(tensor: TensorProto, number: int, count: int) -> str | None:
    """Return why a typed field does not fit the tensor, or None if the field fits.

    `number` is the field. `count` is the number of elements by the tensor's shape.
    """
    values, bits = getattr(tensor, _FIELDS[number]), _BITS.get(tensor.data_type, 32)
    if len(values) != (-(-count // 2) if bits < 8 else count):  # noqa: PLR2004 - two elements a byte
        return "holds another number of elements than its shape asks for"
    return "holds numbers too large" if holds_too_large(tensor) else None


def _in_range(values: Iterable[int], bits: int, data_type: int) -> bool:
    """Return whether all values are in the range of an element type with this number of bits."""
    if data_type == TensorProto.BOOL:
        return all(value in (0, 1) for value in values)
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if data_type in _SIGNED else (0, (1 << bits) - 1)
    return all(least <= value <= most for value in values)


def _external(tensor: TensorProto, field_numbers: set[int]) -> str | None:
    """Return why a runtime may refuse a reference to external data, or None if every runtime accepts it."""
    keys = [entry.key for entry in tensor.external_data]
    if field_numbers or tensor.data_type == TensorProto.STRING:
        return "lies in another file, and holds elements or strings"
    if len(set(keys)) < len(keys) or not _KEYS.issuperset(keys):
        return "says where it lies in a form that runtimes do not know"
    numbers = [entry.value for entry in tensor.external_data if entry.key in ("offset", "length")]
    if any(len(number) > 1 and number.startswith("0") for number in numbers):
        return "says where it lies by a number that begins with 0, which some libraries read as octal"
    return None


def odd_location(tensor: TensorProto) -> str | None:
    """Return the location of a tensor's data file if some runtime may not accept it as a plain name below the folder.

    Returns None for a plain name, and for a tensor without a data file.
    """
    location = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
    if tensor.data_location != TensorProto.EXTERNAL or not isinstance(location, str):
        return None
    given = PurePosixPath(location)
    # A slash at the end marks a folder, so the location is no plain file name.
    plain = str(given) == location.removeprefix("./") and ".." not in given.parts and not {"\\", "*"} & {*location}
    return None if plain and not PureWindowsPath(location).anchor else location

"""Read an ONNX file without its weights. The checker needs a few KB of a file that may have several GB."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # protobuf ships no stubs

from graphfix.results import GraphfixError
from graphfix.results.onnx_messages import ModelProto

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

# Fields of onnx.proto that lead to a TensorProto: message -> {field number: message}.
_ROUTES: dict[str, dict[int, str]] = {
    "Model": {7: "Graph", 25: "Function"},
    "Graph": {1: "Node", 5: "Tensor", 15: "Sparse"},
    "Function": {7: "Node"},
    "Node": {5: "Attribute"},
    "Attribute": {5: "Tensor", 6: "Graph", 10: "Tensor", 11: "Graph", 22: "Sparse", 23: "Sparse"},
    "Sparse": {1: "Tensor", 2: "Tensor"},
    "Tensor": {},
}
# The payload fields of a TensorProto: float_data, int32_data, string_data, int64_data, raw_data, double_data and
# uint64_data.
_PAYLOADS = frozenset({4, 5, 6, 7, 9, 10, 11})
_KEPT_BYTES = 1024
_DEEPEST = 100
"""The most messages that may be nested in each other. protobuf itself refuses more."""
_FIXED = {1: 8, 5: 4}
Placeholder: TypeAlias = Callable[[int, int, int], bytes]
"""A function that returns the bytes that replace a payload's field in the message.

Its arguments are the payload's field number, the payload's first byte in the file, and the byte behind the payload.
"""


def read(path: Path, placeholder: Placeholder | None = None, *, full_below: int = 0) -> ModelProto:
    """Read a model without tensor payloads above 1 KiB. Raises GraphfixError if the file is not a model.

    A larger payload is replaced by the result of `placeholder`, or dropped if `placeholder` is None. A file of up to
    `full_below` bytes is read with all payloads.
    """
    return parsed(path, message(path, placeholder, full_below=full_below))


def message(path: Path, placeholder: Placeholder | None = None, *, full_below: int = 0) -> bytes:
    """Return the serialized model that `read` parses: the file without tensor payloads above 1 KiB.

    A larger payload is replaced by the result of `placeholder`, or dropped if `placeholder` is None. A file of up to
    `full_below` bytes is returned with all payloads. Raises GraphfixError.
    """
    try:
        with path.open("rb") as file:
            return _skeleton(file, placeholder, full_below)
    except OSError as error:
        raise GraphfixError(
            f"{path}: can't be read: {error.strerror}; give the path of a model that can be read"
        ) from None
    except ValueError as error:
        raise _no_model(path, str(error)) from None


def parsed(path: Path, data: bytes) -> ModelProto:
    """Parse a serialized model. Raises GraphfixError if it is not one, or if it has no graph or no operator set.

    `path` is for messages.
    """
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        raise _no_model(path, "a message in it is damaged") from None
    if not model.HasField("graph") or not model.opset_import:
        raise _no_model(path, "it has no graph or no operator set")
    return model


def _no_model(path: Path, why: str) -> GraphfixError:
    """Return the error for a file that is not an ONNX model.

    A file with the ending .tflite but without TFLite's identifier is read as ONNX. The message then states that the
    file is neither a TFLite model nor an ONNX model.
    """
    neither = "no TFLite model (it has no identifier TFL3), and " if path.suffix.lower() == ".tflite" else ""
    return GraphfixError(f"{path}: {neither}no ONNX model: {why}; get the file again")


def _skeleton(file: BinaryIO, placeholder: Placeholder | None, full_below: int) -> bytes:
    """Return the bytes of a file without its large payloads.

    Raises ValueError if the file is not a protobuf message.
    """
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data[:] if len(data) <= full_below else _weightless(data, 0, len(data), "Model", placeholder, 1)


def _weightless(
    data: mmap.mmap, start: int, end: int, message: str, placeholder: Placeholder | None, depth: int
) -> bytes:
    """Return a copy of the message in `data[start:end]` without its large payloads.

    Raises ValueError if the message is damaged.

    `message` is the name of the message's type in `_ROUTES`; `depth` is the number of messages around it, plus 1.
    """
    if depth > _DEEPEST:
        raise ValueError(f"more than {_DEEPEST} messages are nested at byte {start}")
    routes, parts, copied = _ROUTES[message], list[bytes](), start
    for number, begin, body, after in _fields(data, start, end):
        if body is None or after - body <= _KEPT_BYTES:
            continue
        if message == "Tensor" and number in _PAYLOADS:
            parts += (data[copied:begin], b"" if placeholder is None else placeholder(number, body, after))
            copied = after
        elif number in routes:
            inner = _weightless(data, body, after, routes[number], placeholder, depth + 1)
            parts += (data[copied:begin], varint_bytes(number << 3 | 2), varint_bytes(len(inner)), inner)
            copied = after
    parts.append(data[copied:end])
    return b"".join(parts)


def _fields(data: mmap.mmap, start: int, end: int) -> Iterator[tuple[int, int, int | None, int]]:
    """Yield each field of the message in `data[start:end]`: (field number, start of tag, start of content, end).

    The start of the content is None for fields that are not length-delimited. Raises ValueError if the message is
    damaged.
    """
    at = start
    while at < end:
        begin = at
        tag, at = _varint(data, at, end)
        body: int | None = None
        wire = tag & 7
        if wire == 0:
            _, at = _varint(data, at, end)
        elif wire == 2:  # noqa: PLR2004 - protobuf's number for a length-delimited field
            size, body = _varint(data, at, end)
            at = body + size
        elif wire in _FIXED:
            at += _FIXED[wire]
        else:
            raise ValueError(f"byte {begin} starts no field")
        if at > end:
            raise ValueError(f"cut short at byte {end}")
        yield tag >> 3, begin, body, at


def _varint(data: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    """Return the variable-length integer at a byte, and the byte behind it. Raises ValueError if it is cut short."""
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:  # noqa: PLR2004 - the top bit says that more follows
            return value, at
        shift += 7
    raise ValueError(f"cut short at byte {end}")


def varint_bytes(value: int) -> bytes:
    """Return a non-negative integer in protobuf's encoding: seven bits per byte, the lowest bits first."""
    out = bytearray()
    while value > 127:  # noqa: PLR2004 - seven bits a byte
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])

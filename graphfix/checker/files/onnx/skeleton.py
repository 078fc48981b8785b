"""Read an ONNX file without its weights: what the checker needs to know is a few KB of a few GB."""

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
# float_data, int32_data, string_data, int64_data, raw_data, double_data, uint64_data
_PAYLOADS = frozenset({4, 5, 6, 7, 9, 10, 11})
_KEPT_BYTES = 1024
_DEEPEST = 100
"""Messages within each other: more are refused by protobuf itself."""
_FIXED = {1: 8, 5: 4}
Placeholder: TypeAlias = Callable[[int, int, int], bytes]
"""What replaces a payload, by its field, its first byte in the file, and the byte behind it."""


def read(path: Path, placeholder: Placeholder | None = None, *, full_below: int = 0) -> ModelProto:
    """Read a model; tensor payloads above 1 KiB are left out, or replaced. Raises GraphfixError for what is no model.

    A file of up to `full_below` bytes is read as it is.
    """
    return parsed(path, message(path, placeholder, full_below=full_below))


def message(path: Path, placeholder: Placeholder | None = None, *, full_below: int = 0) -> bytes:
    """Return the message that `read` reads. Raises GraphfixError."""
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
    """Parse a message. Raises GraphfixError for what is no model."""
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        raise _no_model(path, "a message in it is damaged") from None
    if not model.HasField("graph") or not model.opset_import:
        raise _no_model(path, "it has no graph or no operator set")
    return model


def _no_model(path: Path, why: str) -> GraphfixError:
    """A file that calls itself a TFLite model and has not the mark of one is read as ONNX: both is said."""
    neither = "no TFLite model (it has no identifier TFL3), and " if path.suffix.lower() == ".tflite" else ""
    return GraphfixError(f"{path}: {neither}no ONNX model: {why}; get the file again")


def _skeleton(file: BinaryIO, placeholder: Placeholder | None, full_below: int) -> bytes:
    """Copy a file but for the payloads. Raises ValueError."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data[:] if len(data) <= full_below else _weightless(data, 0, len(data), "Model", placeholder, 1)


def _weightless(
    data: mmap.mmap, start: int, end: int, message: str, placeholder: Placeholder | None, depth: int
) -> bytes:
    """Copy one message but for the payloads in it."""
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
    """Yield (field number, where its tag is, where its bytes begin or None, where it ends)."""
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
    """Encode a number as protobuf does: seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 127:  # noqa: PLR2004 - seven bits a byte
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])

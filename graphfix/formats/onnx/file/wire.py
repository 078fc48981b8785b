"""Read the protobuf records of an ONNX file, and determine which message fields lead to a tensor.

The encoding is that of protobuf.dev/programming-guides/encoding. Only tags and lengths are read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from graphfix.results.onnx_messages import ModelProto, TensorProto
from graphfix.results.records import dataclass

VARINT, FIXED64, LEN, GROUP, END_GROUP, FIXED32 = range(6)
WIDTH: Final = {FIXED64: 8, FIXED32: 4}
MORE: Final = 0x80
"""The bit of a varint's byte which states that another byte follows."""
VARINT_BITS: Final = 70

Record = tuple[int, int, int, int]
"""`(start, tag, body, stop)`: the offset of the record, its tag, and the offsets of its body's start and end."""


class MalformedError(Exception):
    """The bytes are not a protobuf message. The text states the position, and `container.read` adds the file's name."""


@dataclass(frozen=True, slots=True)
class Route:
    """The fields of one message type that lead to a TensorProto."""

    fields: dict[int, str]
    """For each tag, the full name of the field's message type."""
    names: tuple[str, ...]
    singular: frozenset[int]
    """The tags of fields that are not repeated. protobuf merges such a field if it occurs twice."""


def tag_of(number: int, kind: int) -> int:
    """Return the tag of a field with this number and wire type."""
    return number << 3 | kind


def records(data: memoryview, pos: int, end: int, wanted: Collection[int], least: int = 0) -> Iterator[Record]:
    """Yield the records of one message that have a wanted tag and a body of at least `least` bytes.

    All other records are skipped by their length. Raises MalformedError if the message does not end with a record.
    """
    while pos < end:
        start = pos
        tag = data[pos]
        body = pos + 1
        if tag >= MORE:
            tag, body = varint(data, start, end)
        if tag & 7 == LEN:
            # Nearly all records are short. The general case takes three times as long.
            size = data[body] if body < end else MORE
            body += 1
            if size >= MORE:
                size, body = varint(data, body - 1, end)
            pos = body + size
        else:
            pos = _skip(data, body, end, tag)
        if pos > end:
            raise MalformedError(f"the record at byte {start} does not end within its message")
        if tag in wanted and pos - body >= least:
            yield start, tag, body, pos


def varint(data: memoryview, pos: int, end: int) -> tuple[int, int]:
    """Return the number that starts at offset `pos`, and the offset behind it. Raises MalformedError."""
    start, value, shift = pos, 0, 0
    while pos < end and shift < VARINT_BITS:
        byte = data[pos]
        pos += 1
        value |= (byte & ~MORE) << shift
        if byte < MORE:
            return value, pos
        shift += 7
    raise MalformedError(f"the number at byte {start} does not end")


def encode(value: int) -> bytes:
    """Return a number as the shortest varint."""
    out = bytearray()
    while value >= MORE:
        out.append(value & ~MORE & 0xFF | MORE)
        value >>= 7
    out.append(value)
    return bytes(out)


def _skip(data: memoryview, pos: int, end: int, tag: int) -> int:
    """Return the end of a record that is not length-delimited.

    A group (an old form) ends with a tag that has the group's field number.
    """
    groups: list[int] = []
    while True:
        pos = _skip_one(data, pos, end, tag, groups)
        if not groups:
            return pos
        tag, pos = varint(data, pos, end)


def _skip_one(data: memoryview, pos: int, end: int, tag: int, groups: list[int]) -> int:
    """Return the offset behind the value of one field, whose tag is already read.

    The number of an open group is appended to `groups`, and removed at the group's end. Raises MalformedError for an
    invalid tag.
    """
    kind = tag & 7
    if kind == VARINT:
        return varint(data, pos, end)[1]
    if kind in WIDTH:
        return pos + WIDTH[kind]
    if kind == LEN:
        size, body = varint(data, pos, end)
        return body + size
    if kind == GROUP:
        groups.append(tag >> 3)
        return pos
    if kind == END_GROUP and groups and groups.pop() == tag >> 3:
        return pos
    raise MalformedError(f"no field can start before byte {pos}")


def _repeated(descriptor: Any) -> bool:  # noqa: ANN401  (protobuf's descriptors have no types)
    # protobuf 6.31 added `is_repeated`, and protobuf 7 removed `label`.
    """Return whether a field is repeated, with any version of protobuf."""
    if hasattr(descriptor, "is_repeated"):
        return bool(descriptor.is_repeated)
    return bool(descriptor.label == descriptor.LABEL_REPEATED)


def _holds(field: Any, leading: Collection[str]) -> bool:  # noqa: ANN401  (protobuf's descriptors have no types)
    return field.message_type is not None and field.message_type.full_name in leading


def _routes(root: Any) -> dict[str, Route]:  # noqa: ANN401  (protobuf's descriptors have no types)
    """Return the routes of all message types below `root` from which a TensorProto can be reached.

    The set of these types grows until it no longer changes.
    """
    seen: dict[str, Any] = {}
    queue = [root]
    while queue:
        message = queue.pop()
        if message.full_name not in seen:
            seen[message.full_name] = message
            queue.extend(f.message_type for f in message.fields if f.message_type is not None)
    leading = {TENSOR}
    while grown := {name for name, m in seen.items() if any(_holds(f, leading) for f in m.fields)} - leading:
        leading |= grown
    return {name: _route(seen[name], leading) for name in sorted(leading - {TENSOR})}


def _route(message: Any, leading: Collection[str]) -> Route:  # noqa: ANN401  (protobuf's descriptors have no types)
    """Return the fields of a message type whose types are in `leading`, the types that contain tensors."""
    fields = [f for f in message.fields if _holds(f, leading)]
    return Route(
        {tag_of(f.number, LEN): f.message_type.full_name for f in fields},
        tuple(f.name for f in fields),
        frozenset(tag_of(f.number, LEN) for f in fields if not _repeated(f)),
    )


def refuse_uneven(data: memoryview, record: Record) -> None:
    """Raise MalformedError if packed numbers end in the middle of a number. Other records are accepted."""
    _, tag, body, stop = record
    kind = DATA[tag]
    if kind == LEN or tag & 7 != LEN or body == stop:
        return
    if (kind in WIDTH and (stop - body) % WIDTH[kind]) or (kind == VARINT and data[stop - 1] >= MORE):
        raise MalformedError(f"the numbers that end at byte {stop} are not whole")


def _data_tags() -> dict[int, int]:
    """Return the wire type of one element for each tag of a tensor's data.

    protobuf reads packed and unpacked elements.
    """
    unpacked = {
        "float_data": FIXED32,
        "double_data": FIXED64,
        "int32_data": VARINT,
        "int64_data": VARINT,
        "uint64_data": VARINT,
        "string_data": LEN,
        "raw_data": LEN,
    }
    fields = TensorProto.DESCRIPTOR.fields_by_name
    return {tag_of(fields[name].number, kind): one for name, one in unpacked.items() for kind in (one, LEN)}


TENSOR: Final[str] = TensorProto.DESCRIPTOR.full_name
MODEL: Final[str] = ModelProto.DESCRIPTOR.full_name
ROUTES: Final = _routes(ModelProto.DESCRIPTOR)
DATA: Final = _data_tags()
"""For each tag of a tensor's data, the wire type of one element."""
RAW: Final = tag_of(TensorProto.RAW_DATA_FIELD_NUMBER, LEN)

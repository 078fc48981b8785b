"""The protobuf wire of an ONNX file: payloads are cut out on the way in and woven back in on the way out.

Only tags and lengths are looked at (protobuf.dev/programming-guides/encoding), and only in messages that can hold a
TensorProto. A payload that was cut leaves a marker in the tensor's `raw_data`: a random nonce drawn for this one load and
the index of its `Cut`, so no file can hold one, neither by design nor by chance.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import onnx

THRESHOLD: Final = 4096
"""Bytes; a smaller payload stays in the skeleton."""
DEPTH: Final = 100
"""Protobuf refuses messages that are nested deeper: they are left for it to refuse."""
NONCE: Final = 16
MARKER: Final = NONCE + 8
"""Bytes of a marker: the nonce, then the index, little-endian."""

VARINT, FIXED64, LEN, GROUP, END_GROUP, FIXED32 = range(6)
WIDTH: Final = {FIXED64: 8, FIXED32: 4}
VARINT_BITS: Final = 70

Bytes = bytes | memoryview
Span = tuple[int, int]
"""Start and stop of a range of the source, in bytes."""
Piece = Bytes | Span
"""What a file is written from: literal bytes, or a range of the source."""


class Malformed(Exception):  # noqa: N818  (never leaves this package: `file.read` turns it into a GraphfixError)
    """The bytes are no protobuf message; the text says where."""


@dataclass(frozen=True, slots=True)
class Route:
    """The fields of one message type that lead to a TensorProto."""

    fields: dict[int, str]
    """Tag -> the full name of the message type it holds."""
    singular: frozenset[int]
    """Tags of fields that protobuf merges when they occur twice."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The payload of one tensor, left in the source."""

    records: tuple[Span, ...]
    """Its data fields with their tags and lengths, in the file's order."""
    raw: Span | None
    """What `raw_data` holds, without tag and length; None for typed data."""


def _tag(number: int, kind: int) -> int:
    return number << 3 | kind


def _repeated(descriptor: Any) -> bool:  # noqa: ANN401  (protobuf's descriptors have no types)
    # protobuf 6.31 added `is_repeated`, 7 took `label` away.
    if hasattr(descriptor, "is_repeated"):
        return bool(descriptor.is_repeated)
    return bool(descriptor.label == descriptor.LABEL_REPEATED)


def _routes(root: Any) -> dict[str, Route]:  # noqa: ANN401  (protobuf's descriptors have no types)
    """The message types under `root` from which a TensorProto can be reached, found to a fixed point."""
    seen: dict[str, Any] = {}
    queue = [root]
    while queue:
        message = queue.pop()
        if message.full_name not in seen:
            seen[message.full_name] = message
            queue.extend(f.message_type for f in message.fields if f.message_type is not None)
    leading = {TENSOR}
    while grown := {
        name
        for name, message in seen.items()
        if name not in leading
        and any(f.message_type is not None and f.message_type.full_name in leading for f in message.fields)
    }:
        leading |= grown
    return {name: _route(seen[name], leading) for name in leading - {TENSOR}}


def _route(message: Any, leading: Collection[str]) -> Route:  # noqa: ANN401  (protobuf's descriptors have no types)
    fields = [f for f in message.fields if f.message_type is not None and f.message_type.full_name in leading]
    return Route(
        {_tag(f.number, LEN): f.message_type.full_name for f in fields},
        frozenset(_tag(f.number, LEN) for f in fields if not _repeated(f)),
    )


def _data_tags() -> frozenset[int]:
    """The tags of a tensor's data: protobuf reads repeated numbers packed and unpacked."""
    unpacked = {
        "float_data": FIXED32,
        "double_data": FIXED64,
        "int32_data": VARINT,
        "int64_data": VARINT,
        "uint64_data": VARINT,
        "string_data": LEN,
        "raw_data": LEN,
    }
    numbers = {name: onnx.TensorProto.DESCRIPTOR.fields_by_name[name].number for name in unpacked}
    return frozenset(_tag(numbers[name], kind) for name, one in unpacked.items() for kind in (one, LEN))


TENSOR: Final[str] = onnx.TensorProto.DESCRIPTOR.full_name
MODEL: Final[str] = onnx.ModelProto.DESCRIPTOR.full_name
ROUTES: Final = _routes(onnx.ModelProto.DESCRIPTOR)
DATA: Final = _data_tags()
RAW: Final = _tag(onnx.TensorProto.RAW_DATA_FIELD_NUMBER, LEN)


def records(data: Bytes, pos: int, end: int, wanted: Collection[int], least: int = 0) -> Iterator[tuple[int, int, int, int]]:
    """The records of one message with a wanted tag and a body of at least `least` bytes.

    Yields `(start, tag, body, stop)`: where the record starts, where its body starts and stops (for numbers the body is
    the number). All others are stepped over by their length: about 0.3 us each.

    Raises Malformed where the message does not end with a record.
    """
    while pos < end:
        start = pos
        tag = data[pos]
        pos += 1
        if tag > 0x7F:  # noqa: PLR2004  (the top bit of a varint's byte says that more follow)
            tag, pos = varint(data, start, end)
        body = pos
        if tag & 7 == LEN:
            size, body = varint(data, pos, end)
            pos = body + size
        else:
            pos = _skip(data, pos, end, tag)
        if pos > end:
            raise Malformed(f"the record at byte {start} ends behind its message")
        if tag in wanted and pos - body >= least:
            yield start, tag, body, pos


def varint(data: Bytes, pos: int, end: int) -> tuple[int, int]:
    """The number that starts at `pos`, and where it ends."""
    start, value, shift = pos, 0, 0
    while pos < end and shift < VARINT_BITS:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004  (the top bit of a varint's byte says that more follow)
            return value, pos
        shift += 7
    raise Malformed(f"the number at byte {start} does not end")


def _skip(data: Bytes, pos: int, end: int, tag: int) -> int:
    """Where the body of a record that has no length ends; a group (deprecated, still read) ends with its own tag."""
    open_groups: list[int] = []
    while True:
        pos = _skip_one(data, pos, end, tag, open_groups)
        if not open_groups:
            return pos
        tag, pos = varint(data, pos, end)


def _skip_one(data: Bytes, pos: int, end: int, tag: int, open_groups: list[int]) -> int:
    kind = tag & 7
    if kind == VARINT:
        return varint(data, pos, end)[1]
    if kind in WIDTH:
        return pos + WIDTH[kind]
    if kind == LEN:
        size, body = varint(data, pos, end)
        return body + size
    if kind == GROUP:
        open_groups.append(tag >> 3)
        return pos
    if kind == END_GROUP and open_groups and open_groups.pop() == tag >> 3:
        return pos
    raise Malformed(f"no field can start before byte {pos}")


def encode(value: int) -> bytes:
    """A number as the shortest varint."""
    out = bytearray()
    while value > 0x7F:  # noqa: PLR2004  (the top bit of a varint's byte says that more follow)
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


@dataclass(slots=True)
class Cutter:
    """Cuts the payloads out of a serialized model."""

    data: Bytes
    nonce: bytes
    cuts: list[Cut] = field(default_factory=list)

    def skeleton(self) -> bytes:
        """The model with a marker for each payload of at least THRESHOLD bytes. Raises Malformed."""
        whole = self._shrink(MODEL, 0, len(self.data), 0)
        return bytes(self.data) if whole is None else whole

    def _shrink(self, kind: str, start: int, end: int, depth: int) -> bytes | None:
        """The message without its big payloads, or None where it has none."""
        if kind == TENSOR:
            return self._shrink_tensor(start, end)
        if depth > DEPTH:
            return None
        pieces: list[Bytes] = []
        done = start
        for at, tag, body, stop in self._children(ROUTES[kind], start, end):
            inner = self._shrink(ROUTES[kind].fields[tag], body, stop, depth + 1)
            if inner is not None:
                pieces += (self.data[done:at], encode(tag), encode(len(inner)), inner)
                done = stop
        return b"".join([*pieces, self.data[done:end]]) if pieces else None

    def _children(self, route: Route, start: int, end: int) -> list[tuple[int, int, int, int]]:
        if not route.singular:
            return list(records(self.data, start, end, route.fields, THRESHOLD))
        # Protobuf merges a singular message that occurs twice: only the whole of it knows which payload counts.
        found = list(records(self.data, start, end, route.fields))
        times = Counter(tag for _, tag, _, _ in found if tag in route.singular)
        return [r for r in found if r[3] - r[2] >= THRESHOLD and times[r[1]] <= 1]

    def _shrink_tensor(self, start: int, end: int) -> bytes | None:
        found = list(records(self.data, start, end, DATA))
        if sum(stop - at for at, _, _, stop in found) < THRESHOLD:
            return None
        # The last raw_data of a message is the one that counts.
        raw = [(body, stop) for _, tag, body, stop in found if tag == RAW]
        self.cuts.append(Cut(_merged([(at, stop) for at, _, _, stop in found]), raw[-1] if raw else None))
        marker = self.nonce + (len(self.cuts) - 1).to_bytes(MARKER - NONCE, "little")
        pieces: list[Bytes] = [encode(RAW), encode(MARKER), marker]
        done = start
        for at, _, _, stop in found:
            pieces.append(self.data[done:at])
            done = stop
        return b"".join([*pieces, self.data[done:end]])


def _merged(spans: list[Span]) -> tuple[Span, ...]:
    """The same bytes in as few ranges as possible: (0,4) (4,8) (9,10) -> (0,8) (9,10)."""
    merged: list[Span] = []
    for start, stop in spans:
        if merged and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], stop)
        else:
            merged.append((start, stop))
    return tuple(merged)


@dataclass(slots=True)
class Weaver:
    """Puts the payloads back into a serialized skeleton."""

    blob: bytes
    nonce: bytes
    cuts: list[Cut]
    _at: list[int] = field(default_factory=list)

    def pieces(self) -> list[Piece]:
        """The whole file in order, the lengths of all enclosing messages corrected."""
        at = self.blob.find(self.nonce)
        while at >= 0:
            self._at.append(at)
            at = self.blob.find(self.nonce, at + 1)
        return self._weave(MODEL, 0, len(self.blob))[0]

    def _weave(self, kind: str, start: int, end: int) -> tuple[list[Piece], int]:
        """The message's pieces, and how many bytes they are."""
        pieces: list[Piece] = []
        size, done = 0, start
        for at, tag, body, stop in self._marked(kind, start, end):
            if kind == TENSOR:
                inner: list[Piece] = list(self._payload(body, stop))
                inside, head = sum(b - a for a, b in self._payload(body, stop)), b""
            else:
                inner, inside = self._weave(ROUTES[kind].fields[tag], body, stop)
                head = encode(tag) + encode(inside)
            pieces += (self.blob[done:at], head, *inner)
            size += at - done + len(head) + inside
            done = stop
        pieces.append(self.blob[done:end])
        return pieces, size + end - done

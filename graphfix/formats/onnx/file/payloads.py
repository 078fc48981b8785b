"""Cut the large payloads out of a serialized model when it is read, and insert them again when it is written.

A payload that is cut out is replaced by a marker in the tensor's `raw_data`. The marker is a random nonce, which is
drawn for this load, and the index of the `Cut`. So no file can contain a marker, by design or by chance.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from graphfix.formats.neutral.files import Piece, Source, Span
from graphfix.formats.onnx.file.wire import (
    DATA,
    MODEL,
    RAW,
    ROUTES,
    TENSOR,
    Record,
    Route,
    encode,
    records,
    refuse_uneven,
)
from graphfix.results.records import dataclass, field

THRESHOLD: Final = 4096
"""The size in bytes from which a payload is cut out. A smaller payload stays in the skeleton."""
WINDOW: Final = 1 << 24
"""The number of bytes of the mapped file that may be in memory at a time while the file is walked."""
DEPTH: Final = 100
"""The nesting depth beyond which protobuf refuses messages. Deeper ones are not cut, so protobuf reports them."""
NONCE: Final = 16
MARKER: Final = NONCE + 8
"""The number of bytes of a marker: the nonce, then the index in little-endian order."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The position of one tensor's payload in the source."""

    records: tuple[Span, ...]
    """The tensor's data fields with their tags and lengths, in the order of the file."""
    raw: Span | None
    """The range of the content of `raw_data`, without tag and length; None for typed data."""

    @property
    def size(self) -> int:
        """The number of bytes of all records."""
        return sum(stop - start for start, stop in self.records)


@dataclass(slots=True)
class Cutter:
    """Cuts the payloads out of a serialized model."""

    source: Source
    nonce: bytes
    cuts: list[Cut] = field(default_factory=list)
    mapped: int = 0
    """The offset behind which pages of the mapped file were read since pages were last released."""

    def skeleton(self) -> bytes:
        """Return the model with a marker in place of each payload of at least THRESHOLD bytes.

        Raises MalformedError.
        """
        data = self.source.data
        spans = self._shrink(MODEL, 0, len(data), 0)
        return bytes(data) if spans is None else spans

    def _shrink(self, kind: str, start: int, end: int, depth: int) -> bytes | None:
        """Return the message without its big payloads, serialized; None if it has no big payload."""
        if kind == TENSOR:
            return self._shrink_tensor(start, end)
        if depth > DEPTH:
            return None
        pieces: list[bytes] = []
        done = start
        for at, tag, body, stop in self._children(ROUTES[kind], start, end):
            inner = self._shrink(ROUTES[kind].fields[tag], body, stop, depth + 1)
            if inner is not None:
                pieces += (self._between(done, at), encode(tag), encode(len(inner)), inner)
                done = stop
        return b"".join([*pieces, self._between(done, end)]) if pieces else None

    def _between(self, start: int, stop: int) -> bytes:
        """Return a range of bytes that stays in the skeleton, and release pages of the map that were read before it."""
        kept = bytes(self.source.data[start:stop])
        if stop - self.mapped > WINDOW:
            self.source.forget(stop)
            self.mapped = stop
        return kept

    def _children(self, route: Route, start: int, end: int) -> Iterator[Record]:
        """Yield the records of a message that may contain a payload of at least THRESHOLD bytes."""
        if not route.singular:
            return records(self.source.data, start, end, route.fields, THRESHOLD)
        # protobuf merges a singular message that occurs twice. Only both together determine which payload is used.
        found = list(records(self.source.data, start, end, route.fields))
        times = Counter(tag for _, tag, _, _ in found if tag in route.singular)
        return (r for r in found if r[3] - r[2] >= THRESHOLD and times[r[1]] <= 1)

    def _shrink_tensor(self, start: int, end: int) -> bytes | None:
        """Return a tensor's bytes with a marker in place of its payload; None if the payload is small.

        The payload's position is appended to `cuts`.
        """
        found = list(records(self.source.data, start, end, DATA))
        # protobuf keeps the last raw_data of a message, and onnx prefers raw_data to typed data.
        raw = [(body, stop) for _, tag, body, stop in found if tag == RAW]
        counted = raw[-1:] or [(body, stop) for _, _, body, stop in found]
        if sum(stop - body for body, stop in counted) < THRESHOLD:
            return None
        for record in found:
            refuse_uneven(self.source.data, record)
        spans = _joined([(at, stop) for at, _, _, stop in found])
        marker = self.nonce + len(self.cuts).to_bytes(MARKER - NONCE, "little")
        self.cuts.append(Cut(spans, raw[-1] if raw else None))
        pieces: list[bytes] = []
        done = start
        for at, stop in spans:
            pieces.append(self._between(done, at))
            done = stop
        return b"".join([*pieces, self._between(done, end), encode(RAW), encode(MARKER), marker])


def _joined(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Join adjacent ranges: (0,4) (4,8) (9,10) -> (0,8) (9,10)."""
    joined: list[Span] = []
    for start, stop in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
    return tuple(joined)


@dataclass(slots=True)
class Weaver:
    """Inserts the payloads into a serialized skeleton."""

    blob: bytes | bytearray
    nonce: bytes
    cuts: Sequence[Cut]
    at: list[int] = field(default_factory=list)
    """The sorted offsets at which the nonce occurs in the blob."""

    def pieces(self) -> list[Piece]:
        """Return the pieces from which the file is written, with the lengths of all enclosing messages corrected."""
        found = self.blob.find(self.nonce)
        while found >= 0:
            self.at.append(found)
            found = self.blob.find(self.nonce, found + NONCE)
        return self._weave(MODEL, 0, len(self.blob))[0] if self.at else [self.blob]

    def _weave(self, kind: str, start: int, end: int) -> tuple[list[Piece], int]:
        """Return the pieces of a message and their total number of bytes."""
        view = memoryview(self.blob)
        pieces: list[Piece] = []
        size, done = 0, start
        wanted = {RAW} if kind == TENSOR else ROUTES[kind].fields
        for at, tag, body, stop in records(view, start, end, wanted, MARKER):
            if not self._marked(body, stop):
                continue
            head, inner, inside = self._payload(body, stop) if kind == TENSOR else self._message(kind, tag, body, stop)
            pieces += (view[done:at], head, *inner)
            size += at - done + len(head) + inside
            done = stop
        pieces.append(view[done:end])
        return pieces, size + end - done

    def _message(self, kind: str, tag: int, body: int, stop: int) -> tuple[bytes, Sequence[Piece], int]:
        """Return the encoded tag and length of an inner message, its pieces, and their number of bytes."""
        inner, inside = self._weave(ROUTES[kind].fields[tag], body, stop)
        return encode(tag) + encode(inside), inner, inside

    def _payload(self, body: int, stop: int) -> tuple[bytes, Sequence[Piece], int]:
        """Return the parts that replace a `raw_data` field.

        The parts are the encoded tag and length, the pieces, and the pieces' number of bytes.

        If the field is a marker, the pieces are the payload's records in the source. They contain their tags already.
        """
        payload = bytes(self.blob[body:stop])
        cut = cut_of(payload, self.nonce, self.cuts)
        if cut is None:
            return encode(RAW) + encode(stop - body), [payload], stop - body
        return b"", cut.records, cut.size

    def _marked(self, body: int, stop: int) -> bool:
        """Return whether the range contains a marker."""
        nearest = bisect_left(self.at, body)
        return nearest < len(self.at) and self.at[nearest] < stop


def cut_of(raw_data: bytes, nonce: bytes, cuts: Sequence[Cut]) -> Cut | None:
    """Return the payload for which a tensor's `raw_data` is the marker; None if it is not a marker."""
    if len(raw_data) != MARKER or not raw_data.startswith(nonce):
        return None
    index = int.from_bytes(raw_data[NONCE:], "little")
    return cuts[index] if index < len(cuts) else None

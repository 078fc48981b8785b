"""Add new nodes and value infos to the main graph while it is written.

They are added as bytes, because message objects need five times as much memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from graphfix.formats.onnx.file.wire import LEN, MORE, encode, records, tag_of, varint
from graphfix.results.onnx_messages import GraphProto, ModelProto
from graphfix.results.records import dataclass

GRAPH: Final = tag_of(ModelProto.GRAPH_FIELD_NUMBER, LEN)
UP_TO_VALUE_INFO: Final = frozenset(
    tag_of(field.number, LEN)
    for field in GraphProto.DESCRIPTOR.fields
    if field.number <= GraphProto.VALUE_INFO_FIELD_NUMBER
)
"""The tags of a graph's fields that are serialized before the end of its value infos.

Protobuf writes the fields of a message in the order of their numbers, and unknown fields at the end.
"""


@dataclass(frozen=True, slots=True)
class Additions:
    """Serialized records that are added to the main graph. They are not messages of the skeleton."""

    nodes: Callable[[], Iterable[bytes | None]]
    """Returns every node in order: serialized new nodes, or None for the next node of the skeleton."""
    value_infos: bytes
    """The serialized new value infos."""

    def woven(self, serialized: bytes) -> bytearray:
        """Return the serialized model with the additions inserted."""
        view = memoryview(serialized)
        start, _, body, stop = next(records(view, 0, len(serialized), {GRAPH}))
        graph = bytearray()
        done = at = body
        for record in self.nodes():
            # The first records of a graph are its nodes, so the next record is skipped by its length.
            if record is None:
                size = serialized[at + 1]
                at += 2
                if size >= MORE:
                    size, at = varint(view, at - 1, stop)
                at += size
                continue
            if at > done:
                graph += view[done:at]
                done = at
            graph += record
        if self.value_infos:
            at = _behind_value_infos(view, at, stop)
            graph += view[done:at]
            graph += self.value_infos
            done = at
        graph += view[done:stop]
        graph[:0] = serialized[:start] + encode(GRAPH) + encode(len(graph))
        graph += view[stop:]
        return graph


def _behind_value_infos(view: memoryview, start: int, stop: int) -> int:
    """Return the offset at which the value infos of a serialized graph end, or would end if it has none."""
    return max((end for *_, end in records(view, start, stop, UP_TO_VALUE_INFO)), default=start)

"""What is added to the main graph while it is written: bytes, for as messages they take five times the memory."""

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
"""Protobuf writes a message's fields in the order of their numbers, and those that it does not know at the end."""


@dataclass(frozen=True, slots=True)
class Additions:
    """Records of the main graph that are no messages of the skeleton."""

    nodes: Callable[[], Iterable[bytes | None]]
    """Every node in order: the records of new ones in a row, None for the skeleton's next one."""
    value_infos: bytes
    """The records of the new ones."""

    def woven(self, serialized: bytes) -> bytearray:
        """The serialized model with what is added."""
        view = memoryview(serialized)
        start, _, body, stop = next(records(view, 0, len(serialized), {GRAPH}))
        graph = bytearray()
        done = at = body
        for record in self.nodes():
            if record is None:  # the graph's first records are its nodes: one is stepped over by its size
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
    """Where the last of a serialized graph's value infos ends, or would."""
    return max((end for *_, end in records(view, start, stop, UP_TO_VALUE_INFO)), default=start)

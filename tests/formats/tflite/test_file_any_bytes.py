"""Any bytes at all: a file is refused in one line, or read, changed and written."""

from __future__ import annotations

import struct
from itertools import chain
from time import perf_counter

import numpy as np
import pytest

from graphfix.formats.tflite.file.container import read
from graphfix.results import GraphfixError
from tests.support.tflite.change_all import change_all
from tests.support.tflite.flat_files import (
    Made,
    add_model,
    code,
    operator,
    packed,
    quantization,
    schema,
    subgraph,
    tensor,
    with_outside,
)

B = schema.BuiltinOperator


def survives(data: bytes) -> bool:
    """Read and, where that goes, change and write: anything but GraphfixError is a failure."""
    try:
        container = read(data)
        change_all(container)
        for part in chain(container.subgraphs[0].operators, container.subgraphs[0].tensors):
            part.changed = True
        out = container.tobytes()
    except GraphfixError:
        return False
    assert out.endswith(data)
    return True


def full_model() -> Made:
    """A small model with something of each kind."""
    made = add_model()
    made.subgraphs[0].tensors[1] = tensor("c", (3,), "int8", 1, quantization=quantization([1, 2, 3], [0, 0, 0]))
    made.subgraphs[0].tensors[0].shapeSignature = [-1, 3]
    options = schema.ReshapeOptionsT()
    options.newShape = [3, 2]
    made.operatorCodes.append(code(B.RESHAPE))
    made.subgraphs[0].tensors.append(tensor("z", (3, 2)))
    made.subgraphs[0].operators.append(operator(1, (2,), (3,), options))
    loop_options = schema.WhileOptionsT()
    loop_options.condSubgraphIndex = loop_options.bodySubgraphIndex = 1
    made.operatorCodes.append(code(B.WHILE))
    made.subgraphs[0].operators.append(operator(2, (), (), loop_options))
    made.subgraphs.append(subgraph([], [], (), ()))
    return made


def test_a_file_cut_at_any_length_is_refused_or_read() -> None:
    data = packed(full_model())
    assert survives(data)
    results = [survives(data[:length]) for length in range(1, len(data))]
    assert results.count(True) < len(data) // 4


@pytest.mark.ci
@pytest.mark.parametrize("pattern", [0x01, 0x80, 0xFF], ids=hex)
def test_a_file_with_any_byte_flipped_is_refused_or_read(pattern: int) -> None:
    made = full_model()
    made.buffers.append(schema.BufferT())
    made.subgraphs[0].tensors.append(tensor("far", (3,), buffer=3))
    data = with_outside(made, [(made.buffers[3], "offset", "size", np.zeros(3, np.float32).tobytes())])
    results = [survives(data[:at] + bytes([data[at] ^ pattern]) + data[at + 1 :]) for at in range(len(data))]
    assert 0 < results.count(False) < len(data)


def aliased(count: int) -> bytes:
    """`count` tensors that are one table."""
    data = packed(add_model())
    graph = read(data).subgraphs[0]
    # A new vector behind the file: it can only refer forward, so a table stands behind it.
    vtable = struct.pack("<2H", 4, 4)
    vector = struct.pack("<I", count)
    vector += b"".join(struct.pack("<I", 4 * (count - index) + 4) for index in range(count))
    data += bytes(-len(data) % 4)
    start = len(data)
    place = read(data).subgraphs[0].place
    slot = field_of(data, place, 0)
    assert len(graph.tensors) == 3
    return data[:slot] + struct.pack("<I", start - slot) + data[slot + 4 :] + vector + vtable + struct.pack("<i", 4)


def field_of(data: bytes, table: int, slot: int) -> int:
    vtable = table - struct.unpack_from("<i", data, table)[0]
    return table + int(struct.unpack_from("<H", data, vtable + 4 + 2 * slot)[0])


@pytest.mark.parametrize("count", [3, 100_000])
def test_a_table_that_is_referred_to_very_often_is_read_as_often_in_little_time(count: int) -> None:
    start = perf_counter()
    container = read(aliased(count))
    assert len(container.subgraphs[0].tensors) == count
    assert perf_counter() - start < 20

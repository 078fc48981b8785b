"""An edit for tests, a RESHAPE that is appended, and what must be equal when it is taken off again."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np

from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import Operator, Options, Tensor
from tests.support.tflite.flat_files import (
    Made,
    schema,
)

B = schema.BuiltinOperator


def add_reshape(container: Container, source: int, to: tuple[int, ...], graph: int = 0) -> int:
    """Append `RESHAPE(source)` at the end of a subgraph; give the new tensor."""
    record = container.subgraphs[graph]
    given = record.tensors[source]
    shape = container.add_buffer(struct.pack(f"<{len(to)}i", *to))
    record.tensors.append(Tensor("made/shape", (len(to),), None, True, 2, shape))
    record.tensors.append(Tensor("made/result", to, None, True, given.type, 0, quantization=given.quantization))
    made = len(record.tensors) - 1
    options = Options(17, ((0, "i*", to),))
    opcode = container.code(B.RESHAPE, 1)
    record.operators.append(Operator(opcode, (source, made - 1), (made,), options=options, changed=True))
    record.changed = True
    return made


def without_reshape(model: Made, codes: int, graph: int = 0) -> Made:
    """Take off what `add_reshape` appended, and see that it is what was asked for."""
    record = model.subgraphs[graph]
    node, result, shape, payload = (
        record.operators.pop(),
        record.tensors.pop(),
        record.tensors.pop(),
        model.buffers.pop(),
    )
    assert (result.name, shape.name) == (b"made/result", b"made/shape")
    assert list(node.outputs) == [len(record.tensors) + 1]
    assert list(node.builtinOptions.newShape) == list(result.shape)
    assert bytes(payload.data) == np.array(result.shape, np.int32).tobytes()
    del model.operatorCodes[codes:]
    return model


def same_archive(before: bytes, after: bytes) -> None:
    assert zipfile.is_zipfile(io.BytesIO(before)) == zipfile.is_zipfile(io.BytesIO(after))
    if not zipfile.is_zipfile(io.BytesIO(before)):
        return
    old, new = zipfile.ZipFile(io.BytesIO(before)), zipfile.ZipFile(io.BytesIO(after))
    assert new.testzip() is None
    assert {name: new.read(name) for name in new.namelist()} == {name: old.read(name) for name in old.namelist()}
    for entry in new.infolist():
        assert after[entry.header_offset :].startswith(b"PK\3\4")
    at = after.rindex(b"PK\5\6")
    length, offset = struct.unpack_from("<II", after, at + 12)
    assert offset + length == at

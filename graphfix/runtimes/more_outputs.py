"""What makes inner values of an ONNX model come out beside its outputs, without reading the model.

Protobuf merges concatenated messages: a second ModelProto behind a file adds its nodes and outputs to the file's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def more_outputs(expose: Sequence[str], observe: Sequence[tuple[str, str]]) -> bytes:
    """Return a ModelProto with the outputs `expose`, then with the shapes of values: (the value, the shape's name)."""
    if not (expose or observe):
        return b""
    from graphfix.results.onnx_messages import ModelProto  # a run of TFLite imports no protobuf

    model = ModelProto()
    for name in expose:
        model.graph.output.add().name = name
    for value, shape in observe:
        model.graph.node.add(op_type="Shape", input=[value], output=[shape])
        model.graph.output.add().name = shape
    serialized: bytes = model.SerializeToString()
    return serialized

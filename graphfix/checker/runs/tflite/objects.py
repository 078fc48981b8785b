"""A TFLite file as objects that can be changed, and such objects as a file again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import flatbuffers
from ai_edge_litert import schema_py_generated as schema

from graphfix.checker.files import TFLITE_IDENTIFIER

if TYPE_CHECKING:
    from pathlib import Path


def read(path: Path) -> Any:  # noqa: ANN401 - generated
    """Read a model into a ModelT: as a whole, so its caller has refused one that is too large."""
    return schema.ModelT.InitFromPackedBuf(path.read_bytes(), 0)


def packed(model: Any) -> bytes:  # noqa: ANN401 - generated
    """Return the bytes of a ModelT's file."""
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), TFLITE_IDENTIFIER)
    return bytes(builder.Output())

"""The file formats: which one a file has is decided by its content, never by its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.results import GraphfixError

if TYPE_CHECKING:
    from onnx import ModelProto

    from graphfix.formats.onnx import OnnxModel

TFLITE_IDENTIFIER = b"TFL3"


def load(source: Path | bytes | ModelProto) -> OnnxModel:
    """Read a model file, its bytes, or an onnx ModelProto. Raises GraphfixError for what is none."""
    head = source[:8] if isinstance(source, bytes) else _head(source) if isinstance(source, Path) else b""
    if head[4:8] == TFLITE_IDENTIFIER:
        where = source if isinstance(source, Path) else "the model"
        raise GraphfixError(f"{where}: a TFLite model; this version reads ONNX only")
    from graphfix.formats.onnx import load as load_onnx

    return load_onnx(source)


def _head(path: Path) -> bytes:
    """The first bytes of a file; none where it is no file, which the reader says: to open a pipe waits for a writer."""
    try:
        if not path.is_file() and path.exists():
            return b""
        with path.open("rb") as file:
            return file.read(8)
    except ValueError:  # a NUL in the name
        return b""
    except OSError as error:
        raise GraphfixError(f"{path}: can't be read: {error.strerror}") from None

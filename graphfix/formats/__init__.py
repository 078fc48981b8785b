"""The file formats: which one a file has is decided by its content, never by its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.formats import tflite
from graphfix.results import GraphfixError

if TYPE_CHECKING:
    from graphfix.formats.onnx import OnnxModel
    from graphfix.formats.onnx.file.proto import ModelProto
    from graphfix.formats.tflite.model import TfliteModel


def format_of(source: Path | bytes) -> str:
    """`tflite` or `onnx`: the identifier says it, not the name. Raises GraphfixError for what can't be read."""
    return "tflite" if _head(source)[tflite.IDENTIFIER_AT] == tflite.IDENTIFIER else "onnx"


def load(source: Path | bytes | ModelProto) -> OnnxModel | TfliteModel:
    """Read a model file, its bytes, or an onnx ModelProto. Raises GraphfixError for what is none."""
    if isinstance(source, (bytes, Path)) and format_of(source) == "tflite":
        from graphfix.formats.tflite.model import load as load_tflite

        return load_tflite(source)
    from graphfix.formats.onnx import load as load_onnx

    return load_onnx(source)


def _head(source: Path | bytes) -> bytes:
    """The first bytes; none where it is no file, which the reader says: to open a pipe waits for a writer."""
    if isinstance(source, bytes):
        return source[:8]
    try:
        if not source.is_file() and source.exists():
            return b""
        with source.open("rb") as file:
            return file.read(8)
    except ValueError:  # a NUL in the name
        return b""
    except OSError as error:
        raise GraphfixError(
            f"{source}: can't be read: {error.strerror}; give the path of a model that can be read"
        ) from None

"""The file formats. A file's format is decided by its content, never by its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.formats import tflite
from graphfix.results.files.file_kinds import refuse_foreign

if TYPE_CHECKING:
    from graphfix.formats.onnx import OnnxModel
    from graphfix.formats.tflite.model import TfliteModel
    from graphfix.results.onnx_messages import ModelProto


def format_of(source: Path | bytes) -> str:
    """Return `tflite` or `onnx`, the format of a model file or of its bytes, by the content.

    Content that starts like no known file counts as `onnx`. Raises GraphfixError for a file that can't be read, and for
    content that is known not to be a model (for example an archive or a model of another tool).
    """
    refuse_foreign(source)
    return "tflite" if _head(source)[tflite.IDENTIFIER_AT] == tflite.IDENTIFIER else "onnx"


def load(
    source: Path | bytes | ModelProto, data_root: Sequence[Path] = (), folder: Path | None = None
) -> OnnxModel | TfliteModel:
    """Read a model from a file, its bytes, or an onnx ModelProto.

    `data_root` lists further folders in which the data files of an ONNX model may lie. `folder` is the folder to which
    the locations of data files are relative, for a model that is not a file. Raises GraphfixError if `source` is not a
    model.
    """
    if isinstance(source, (bytes, Path)) and format_of(source) == "tflite":
        from graphfix.formats.tflite.model import load as load_tflite

        return load_tflite(source)
    from graphfix.formats.onnx import load as load_onnx

    return load_onnx(source, data_root, folder)


def data_locations(source: Path, data_root: Sequence[Path] = ()) -> Sequence[str]:
    """Return the locations of a model's data files, as the model states them.

    For an ONNX model these are the locations below the model's folder, and the locations that `data_root` allows.
    Raises GraphfixError if the model can't be read.
    """
    if format_of(source) == "tflite":
        from graphfix.formats.tflite.file.container import read

        return tuple(read(source).parts.external)
    from graphfix.formats.onnx.file.container import external_locations

    return external_locations(source, data_root)


def _head(source: Path | bytes) -> bytes:
    if isinstance(source, bytes):
        return source[:8]
    with source.open("rb") as file:
        return file.read(8)

"""Compare two model files and their data files byte by byte. The proof needs no terms for an exact copy."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from graphfix.checker.files.constant_bytes import Opened, Payload

_WHOLE = 1 << 25
"""The largest model file, in bytes, for which `_is_restated` accepts renamed data files.

For larger files the proof decides.
"""

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def is_copy(before: Path, after: Path, data_root: Sequence[Path] = (), *, tflite: bool) -> bool:
    """Return whether two model files are copies: the model files have the same bytes, and so have their data files.

    The data files of ONNX models may have other names, if nothing else differs. For two TFLite files in different
    folders, the result is False if a tensor has an external buffer.

    Raises GraphfixError for a file that can't be read, and for a data file that is missing or refused.
    """
    if not _same_bytes(before, after):
        return not tflite and _is_restated(before, after, data_root)
    if tflite:
        return before.parent == after.parent or not _has_external_buffers(before)
    one, two = (_data_files(path, data_root) for path in (before, after))
    return all(_same_bytes(file, two[location]) for location, file in one.items())


def _is_restated(before: Path, after: Path, data_root: Sequence[Path]) -> bool:
    """Return whether two ONNX models are equal except for the names of their data files.

    The data files must have the same bytes. Returns False for model files larger than 32 MiB, for models without data
    files, and if a location is not a plain name.
    """
    from graphfix.checker.files.onnx import external_data, skeleton

    if max(path.stat().st_size for path in (before, after)) > _WHOLE:
        return False
    found: list[tuple[bytes, list[Path]]] = []
    for path in (before, after):
        message = skeleton.message(path, full_below=_WHOLE)
        if not external_data.may_have_external(message):
            return False
        model = skeleton.parsed(path, message)
        data = external_data.checked(path, model, data_root)
        if not data.files or not data.number(model):
            return False
        found.append((model.SerializeToString(deterministic=True), list(data.files.values())))
    (one, files), (two, others) = found
    return one == two and all(map(_same_bytes, files, others))


def _data_files(path: Path, data_root: Sequence[Path]) -> Mapping[str, Path]:
    """Return the data files of an ONNX model by location. Raises GraphfixError if a data file is missing or refused."""
    from graphfix.checker.files.onnx import external_data, skeleton

    data = skeleton.message(path)
    if not external_data.may_have_external(data):
        return {}
    return external_data.checked(path, skeleton.parsed(path, data), data_root).files


def _has_external_buffers(path: Path) -> bool:
    """Return whether a tensor of a TFLite model has its bytes in another file."""
    from graphfix.checker.files.tflite.file import read

    with ExitStack() as stack:
        model, _ = read(path, stack, lenient=True)
        return any("external" in tensor.odd for graph in model.subgraphs for tensor in graph.tensors)


def _same_bytes(before: Path, after: Path) -> bool:
    """Return whether two files have equal bytes. Raises GraphfixError if a file changes while it is read."""
    if before.stat().st_size != after.stat().st_size:
        return False
    with ExitStack() as stack:
        files = [Opened.at(path, stack) for path in (before, after)]
        one, two = (Payload(file, 0, file.size) for file in files)
        same = one.same(two)
        for file in files:
            file.check()
    return same

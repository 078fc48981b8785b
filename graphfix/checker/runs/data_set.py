"""An ONNX test_data_set folder: the inputs of one run and the outputs that it expects, as protobuf files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # protobuf ships no stubs
from onnx import numpy_helper

from graphfix.results import GraphfixError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from graphfix.checker.runs.interface import Face, Port


def folder(path: Path, face: Face) -> tuple[dict[str, object], dict[str, object]]:
    """Read input_0.pb, input_1.pb ... in the order of the model's inputs, and output_0.pb ... likewise."""
    if not (path / "input_0.pb").is_file() and face.inputs:
        raise GraphfixError(f"{path}: no input_0.pb in it; name a test_data_set folder")
    return _values(path, "input", face.declared), _values(path, "output", face.outputs)


def _values(path: Path, what: str, ports: Sequence[Port]) -> dict[str, object]:
    files = [(port, path / f"{what}_{i}.pb") for i, port in enumerate(ports)]
    return {port.name: _value(file, port) for port, file in files if file.is_file()}


def _value(file: Path, port: Port) -> object:
    try:
        data = file.read_bytes()
        if port.kind.startswith("optional"):
            return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
        if port.kind == "sequence":
            return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
        return numpy_helper.to_array(onnx.TensorProto.FromString(data))
    except OSError as error:
        raise GraphfixError(f"{file}: can't be read: {error.strerror}") from None
    except (DecodeError, ValueError, TypeError) as error:
        raise GraphfixError(f"{file}: no {port.kind} of onnx: {error}; check the file") from None

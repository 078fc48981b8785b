"""The committed TFLite models: the combinations of MLIR's RFC in four element types, and one feature a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from models.builders.onnx.reference import AT_THE_TOP, RFC, Row
from models.builders.tflite.features import FEATURES
from models.builders.tflite.files import FILE_FEATURES
from models.builders.tflite.text import model

TfliteKind = Literal["runs", "partly", "no kernel", "refused", "aborts", "garbage"]

TFLITE_KINDS: dict[TfliteKind, str] = {
    "runs": "LiteRT runs it with its reference kernels, its optimized ones and XNNPACK",
    "partly": "LiteRT's reference kernels do not have the operator's version, the other two sets run it",
    "no kernel": "LiteRT has no kernel for it",
    "refused": "the operands never fit: LiteRT refuses them",
    "aborts": "LiteRT's kernels end the process",
    "garbage": "LiteRT runs it, and computes from bytes that are no element of the operand",
}


@dataclass(frozen=True, slots=True)
class TfliteCase:
    """One committed TFLite model; `line` is what models/README.md says of it."""

    name: str
    kind: TfliteKind
    line: str
    data: bytes


# How the RFC's f32 operators are written in each element type; bool has logical ones.
_OPERATORS = {
    "float32": {"Add": "ADD", "Abs": "ABS", "Where": "SELECT_V2"},
    "int8": {"Add": "ADD", "Abs": "ABS", "Where": "SELECT_V2"},
    "int16": {"Add": "ADD", "Abs": "ABS", "Where": "SELECT_V2"},
    "bool": {"Add": "LOGICAL_AND", "Abs": "LOGICAL_NOT", "Where": "SELECT_V2"},
}


def _dims(shape: str) -> str:
    return "" if shape == "scalar" else shape


def _rfc(row: Row, dtype: str) -> TfliteCase:
    name, kind, op, shapes, result, line = row
    types = ["bool" if op == "Where" and index == 0 else dtype for index in range(len(shapes))]
    operands = ", ".join(
        f"x{index}:{type_}[{_dims(shape)}]" for index, (type_, shape) in enumerate(zip(types, shapes, strict=True))
    )
    suffix = "" if dtype == "float32" else f"_{dtype}"
    text = f"y:{dtype}[{_dims(result)}] = {_OPERATORS[dtype][op]}({operands})"
    description = line if dtype == "float32" else f"`rfc/{name}` in {dtype}"
    place = f"rfc/{name}{suffix}"
    return TfliteCase(
        AT_THE_TOP.get(place, place), "refused" if kind == "refused" else "runs", description, model(text)
    )


def _has_symbols(row: Row) -> bool:
    """Whether the row is the twin, with symbols, of one with unknown dims: TFLite has no symbols."""
    return any(size.isalpha() and size != "scalar" for shape in row[3] for size in shape.split(","))


def tflite_cases() -> list[TfliteCase]:
    """Every committed TFLite model, in the order of the table; what LiteRT refuses is there in float32 only."""
    rows = [row for row in RFC if not _has_symbols(row)]
    rfc = [_rfc(row, dtype) for row in rows for dtype in _OPERATORS if dtype == "float32" or row[1] != "refused"]
    features = [
        TfliteCase(f"{feature.name}{suffix}", kind, line, data)
        for feature in (*FEATURES, *FILE_FEATURES)
        for suffix, kind, line, data in feature.variants()
    ]
    return [*rfc, *features]

"""A committed model as a table row: its name, what it shows, what is to be expected of it, and its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import onnx
import onnx.parser

Kind = Literal["sound", "stale", "unranked", "refused", "no kernel", "random", "unchecked"]

KINDS: dict[Kind, str] = {
    "sound": "onnx's full check passes and onnxruntime runs it",
    "stale": "a declared shape contradicts the computed: onnx's full check refuses it, onnxruntime runs it",
    "unranked": "an input or output declares no shape: onnx's check refuses it, onnxruntime runs it",
    "refused": "the operands never fit: neither onnx nor onnxruntime takes it",
    "no kernel": "onnx's full check passes, onnxruntime's CPU provider has no kernel for it",
    "unchecked": "onnxruntime runs it, onnx's full check does not know the construct",
    "random": "runs, and returns other numbers each time",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One committed model; `line` is what models/README.md says of it."""

    name: str
    kind: Kind
    line: str
    model: onnx.ModelProto


def case(name: str, kind: Kind, line: str, text: str, *, opset: int = 18, ir: int = 8) -> Case:
    """Build a case from onnx's textual form of its graph and functions, without the model header."""
    imports = f'"" : {opset}' + (', "local" : 1' if '"local"' in text else "")
    imports += ', "com.microsoft" : 1' if "com.microsoft" in text else ""
    header = f'<ir_version: {ir}, opset_import: [{imports}], producer_name: "graphfix">'
    return Case(name, kind, line, onnx.parser.parse_model(f"{header}\n{text}"))

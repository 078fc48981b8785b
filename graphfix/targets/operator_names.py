"""The names that a target's tables may hold: the operators and the types of each format."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from graphfix import operators
from graphfix.operators.row import TFLITE, standard

Format: TypeAlias = Literal["onnx", "tflite"]
CUSTOM = "custom:"
"""What stands in front of an operator of a domain that the catalogue does not know: its owner alone knows its name."""
_ALL = operators.NOT_BROADCASTING | {(row.domain, row.op) for row in operators.rows()}
_DOMAINS = frozenset(domain for domain, _ in _ALL)

OPERATORS: Mapping[Format, frozenset[str]] = MappingProxyType(
    {
        "onnx": frozenset(op for domain, op in _ALL if domain != TFLITE),
        "tflite": frozenset(op for domain, op in _ALL if domain == TFLITE),
    }
)
"""Format -> the operators of its catalogue: its rows, and the lists of those that were read."""
TYPES: Mapping[Format, frozenset[str]] = MappingProxyType(
    {
        "onnx": frozenset(
            "float32 float64 float16 bfloat16 int2 int4 int8 int16 int32 int64 uint2 uint4 uint8 uint16 uint32 uint64"
            " bool string complex64 complex128 float4e2m1 float6e2m3 float6e3m2 float8e4m3fn float8e4m3fnuz float8e5m2"
            " float8e5m2fnuz float8e8m0".split()
        ),
        "tflite": frozenset(
            "float32 float64 float16 bfloat16 int2 int4 int8 int16 int32 int64 uint4 uint8 uint16 uint32 uint64 bool"
            " string complex64 complex128 resource variant float8_e4m3fn float8_e5m2".split()
        ),
    }
)
"""Format -> the types of elements, as its views name them."""


def in_tables(domain: str, op: str) -> str:
    """The name of an operator in a target's tables: `ADD`, `custom:TFLite_Detection_PostProcess`."""
    return op if standard(domain) in _DOMAINS else CUSTOM + op

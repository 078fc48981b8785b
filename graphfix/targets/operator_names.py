"""The names that the tables of a target may contain: the operators and the element types of each format."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from graphfix import operators
from graphfix.operators.row import TFLITE, standard

Format: TypeAlias = Literal["onnx", "tflite"]
CUSTOM = "custom:"
"""The prefix of a custom operator's name.

The catalogue does not know the operators of its domain, so no name is refused.
"""
_ALL = operators.NOT_BROADCASTING | {(row.domain, row.op) for row in operators.rows()}
_DOMAINS = frozenset(domain for domain, _ in _ALL)

OPERATORS: Mapping[Format, frozenset[str]] = MappingProxyType(
    {
        "onnx": frozenset(op for domain, op in _ALL if domain != TFLITE),
        "tflite": frozenset(op for domain, op in _ALL if domain == TFLITE),
    }
)
"""Format -> all operators in its catalogue: those that broadcast, and those that were reviewed and do not broadcast."""
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
"""Format -> the names of element types in its views."""


def in_tables(domain: str, op: str) -> str:
    """Return the name of an operator in the tables of a target: `ADD`, `custom:TFLite_Detection_PostProcess`.

    A custom operator (of a domain without operators in the catalogue) has the prefix `custom:`.
    """
    return op if standard(domain) in _DOMAINS else CUSTOM + op

"""The names that a target's tables may hold are those that the views of both formats know."""

from __future__ import annotations

import pytest
from onnx import TensorProto

from graphfix.formats.onnx.view import dtype_name
from graphfix.formats.tflite.file.schema import TENSOR_TYPES
from graphfix.targets import operator_names as names
from graphfix.targets.registry import TARGETS
from graphfix.targets.target import target_of


@pytest.mark.needs_release("onnx>=1.23")  # 1.19 has no int2, uint2, float6e2m3 and float6e3m2
def test_the_types_are_those_of_the_views() -> None:
    assert names.TYPES["onnx"] == {dtype_name(code) for code in TensorProto.DataType.values()} - {"?"}
    assert names.TYPES["tflite"] == {name for name, _ in TENSOR_TYPES.values()}


def test_the_tables_of_every_target_hold_known_names() -> None:
    for target in map(target_of, TARGETS):
        for format_ in [target.reads] if target.reads else names.OPERATORS:
            assert {*(target.operators or ()), *target.not_supported} <= names.OPERATORS[format_]
            assert (target.types or set()) <= names.TYPES[format_]


def test_a_custom_operator_is_named_as_such() -> None:
    assert names.in_tables("tflite", "ADD") == "ADD"
    assert names.in_tables("tflite.custom", "ADD") == "custom:ADD"
    assert names.in_tables("ai.onnx", "Add") == "Add"
    assert names.in_tables("com.microsoft", "Gelu") == "Gelu"
    assert names.in_tables("mine", "Gelu") == "custom:Gelu"

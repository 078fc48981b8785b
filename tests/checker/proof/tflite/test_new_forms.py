"""Each condition of a form that may be new in a TFLite file: the case that just fits, and those that just do not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from graphfix.checker.proof.tflite.closed_world.new_forms import MOST_RANK, NEW

Operand = tuple[str, tuple[int, ...] | None]
"""An element type, and sizes."""


def fits(name: str, operands: list[Operand | None], result: str, **options: object) -> bool:
    """Ask the form of an operator about operands, a result's type, and options."""
    inputs = [None if each is None else SimpleNamespace(dtype=each[0]) for each in operands]

    def sizes(index: int) -> tuple[int, ...] | None:
        given = operands[index] if index < len(operands) else None
        return None if given is None else given[1]

    call = SimpleNamespace(inputs=inputs, result=SimpleNamespace(dtype=result), sizes=sizes, option=options.get)
    return NEW[name].fits(cast("Any", call))


UNITS = (1,) * MOST_RANK
F, VECTOR = "float32", ("int32", (2,))
FIT: dict[str, tuple[str, list[Operand | None], str, dict[str, object]]] = {
    "SQUEEZE of eight axes": ("SQUEEZE", [(F, UNITS)], F, {"squeezeDims": tuple(range(MOST_RANK))}),
    "SQUEEZE without axes": ("SQUEEZE", [(F, (1,))], F, {}),
    "RESHAPE to eight axes": ("RESHAPE", [(F, (1,)), ("int32", (8,))], F, {"newShape": UNITS}),
    "RESHAPE without options": ("RESHAPE", [(F, (1,)), VECTOR], F, {}),
    "EXPAND_DIMS by a scalar": ("EXPAND_DIMS", [(F, (2,)), ("int64", ())], F, {}),
    "EXPAND_DIMS by a vector": ("EXPAND_DIMS", [(F, (2,)), ("int32", (1,))], F, {}),
    "TILE of texts": ("TILE", [("string", (1, 2)), VECTOR], "string", {}),
    "BROADCAST_TO": ("BROADCAST_TO", [(F, (2,)), ("int64", (2,))], F, {}),
    "SHAPE": ("SHAPE", [(F, (2,))], "int64", {}),
    "GATHER": ("GATHER", [("int32", (3,)), ("int32", ())], "int32", {}),
    "CONCATENATION": ("CONCATENATION", [VECTOR, VECTOR, VECTOR], "int32", {}),
    "BROADCAST_ARGS": ("BROADCAST_ARGS", [VECTOR, VECTOR], "int32", {}),
    "EQUAL": ("EQUAL", [VECTOR, VECTOR], "bool", {}),
    "SELECT_V2": ("SELECT_V2", [("bool", (2,)), (F, (2,)), (F, (2,))], F, {}),
    "REAL": ("REAL", [("complex64", (2,))], F, {}),
    "RFFT2D": ("RFFT2D", [(F, (2, 4)), VECTOR], "complex64", {}),
}
NOT = {
    "SQUEEZE of nine axes": ("SQUEEZE", [(F, (*UNITS, 1))], F, {"squeezeDims": (0,)}),
    "SQUEEZE by nine numbers": ("SQUEEZE", [(F, UNITS)], F, {"squeezeDims": (0,) * 9}),
    "SQUEEZE of an unknown rank": ("SQUEEZE", [(F, None)], F, {}),
    "SQUEEZE of two operands": ("SQUEEZE", [(F, (1,)), VECTOR], F, {}),
    "SQUEEZE to another type": ("SQUEEZE", [(F, (1,))], "int32", {}),
    "SQUEEZE of a handle": ("SQUEEZE", [("resource", (1,))], "resource", {}),
    "SQUEEZE of nothing": ("SQUEEZE", [None], F, {}),
    "RESHAPE to nine axes": ("RESHAPE", [(F, (1,)), ("int32", (9,))], F, {"newShape": (*UNITS, 1)}),
    "RESHAPE with options that are no sizes": ("RESHAPE", [(F, (1,)), VECTOR], F, {"newShape": 3}),
    "RESHAPE by a scalar": ("RESHAPE", [(F, (1,)), ("int32", ())], F, {}),
    "RESHAPE by a matrix": ("RESHAPE", [(F, (1,)), ("int32", (1, 2))], F, {}),
    "RESHAPE by int64": ("RESHAPE", [(F, (1,)), ("int64", (2,))], F, {}),
    "RESHAPE of one operand": ("RESHAPE", [(F, (1,))], F, {}),
    "EXPAND_DIMS by a matrix": ("EXPAND_DIMS", [(F, (2,)), ("int32", (1, 1))], F, {}),
    "EXPAND_DIMS by int16": ("EXPAND_DIMS", [(F, (2,)), ("int16", ())], F, {}),
    "EXPAND_DIMS by an unknown rank": ("EXPAND_DIMS", [(F, (2,)), ("int32", None)], F, {}),
    "EXPAND_DIMS of another type": ("EXPAND_DIMS", [("int8", (2,)), ("int32", ())], F, {}),
    "TILE of bfloat16": ("TILE", [("bfloat16", (1, 2)), VECTOR], "bfloat16", {}),
    "TILE of complex128": ("TILE", [("complex128", (1, 2)), VECTOR], "complex128", {}),
    "TILE by a scalar": ("TILE", [(F, (1,)), ("int32", ())], F, {}),
    "BROADCAST_TO of texts": ("BROADCAST_TO", [("string", (2,)), VECTOR], "string", {}),
    "SHAPE of floats": ("SHAPE", [(F, (2,))], F, {}),
    "SHAPE of two operands": ("SHAPE", [(F, (2,)), VECTOR], "int32", {}),
    "GATHER of floats": ("GATHER", [(F, (3,)), ("int32", ())], F, {}),
    "GATHER of a matrix": ("GATHER", [("int32", (3, 1)), ("int32", ())], "int32", {}),
    "CONCATENATION of nothing": ("CONCATENATION", [], "int32", {}),
    "CONCATENATION of a scalar": ("CONCATENATION", [VECTOR, ("int32", ())], "int32", {}),
    "CONCATENATION of two types": ("CONCATENATION", [VECTOR, ("int64", (2,))], "int32", {}),
    "CONCATENATION of floats": ("CONCATENATION", [(F, (2,))], F, {}),
    "BROADCAST_ARGS of three": ("BROADCAST_ARGS", [VECTOR, VECTOR, VECTOR], "int32", {}),
    "EQUAL of two lengths": ("EQUAL", [VECTOR, ("int32", (3,))], "bool", {}),
    "EQUAL of int64": ("EQUAL", [("int64", (2,)), ("int64", (2,))], "bool", {}),
    "EQUAL of scalars": ("EQUAL", [("int32", ()), ("int32", ())], "bool", {}),
    "EQUAL to integers": ("EQUAL", [VECTOR, VECTOR], "int32", {}),
    "EQUAL of one operand": ("EQUAL", [VECTOR], "bool", {}),
    "SELECT_V2 by integers": ("SELECT_V2", [VECTOR, (F, (2,)), (F, (2,))], F, {}),
    "SELECT_V2 of another type": ("SELECT_V2", [("bool", (2,)), (F, (2,)), VECTOR], F, {}),
    "SELECT_V2 of one value": ("SELECT_V2", [("bool", (2,)), (F, (2,))], F, {}),
    "SELECT_V2 of three values": ("SELECT_V2", [("bool", (2,)), (F, (2,)), (F, (2,)), (F, (2,))], F, {}),
    "REAL of complex128": ("REAL", [("complex128", (2,))], F, {}),
    "REAL to float64": ("REAL", [("complex64", (2,))], "float64", {}),
    "REAL of two operands": ("REAL", [("complex64", (2,)), VECTOR], F, {}),
    "RFFT2D of a vector": ("RFFT2D", [(F, (4,)), VECTOR], "complex64", {}),
    "RFFT2D by one length": ("RFFT2D", [(F, (2, 4)), ("int32", (1,))], "complex64", {}),
    "RFFT2D by int64": ("RFFT2D", [(F, (2, 4)), ("int64", (2,))], "complex64", {}),
    "RFFT2D of integers": ("RFFT2D", [("int32", (2, 4)), VECTOR], "complex64", {}),
    "RFFT2D to floats": ("RFFT2D", [(F, (2, 4)), VECTOR], F, {}),
    "RFFT2D of three operands": ("RFFT2D", [(F, (2, 4)), VECTOR, VECTOR], "complex64", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", FIT)
def test_what_the_kernels_take_fits(name: str) -> None:
    operator, operands, result, options = FIT[name]
    assert fits(operator, operands, result, **options)


def test_every_form_has_a_case_that_fits() -> None:
    assert {operator for operator, *_ in FIT.values()} == NEW.keys()


@pytest.mark.parametrize("name", NOT)
def test_what_a_kernel_refuses_does_not_fit(name: str) -> None:
    operator, operands, result, options = NOT[name]
    assert not fits(operator, operands, result, **options)  # type: ignore[arg-type]  # the lists hold one type each

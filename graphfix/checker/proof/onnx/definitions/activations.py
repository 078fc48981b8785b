"""Activations by their formulas in ONNX: of float32, which kernels of their own round elsewhere."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.proof.onnx.definitions.formula_builder import Formula, Found
from graphfix.checker.proof.onnx.reading.types import dtype

if TYPE_CHECKING:
    from graphfix.checker.proof.onnx.reading.operands import Call

TERMS = 0.044715, math.sqrt(2 / math.pi)
"""Of the approximation by a hyperbolic tangent: the factor of the cube, and of the sum."""


def gelu(call: Call) -> Found | None:
    """Gelu (since 20) by its approximation: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)))."""
    data, how = call.operand(0), call.attributes.get("approximate")
    if data is None or dtype(data.core) != TensorProto.FLOAT or how is None or how.s != b"tanh":
        return None
    formula = Formula()
    add, number = formula.add, formula.floats
    cube = add("Mul", add("Mul", "X", "X"), "X")
    inner = add("Add", "X", add("Mul", cube, number(TERMS[0])))
    bent = add("Tanh", add("Mul", inner, number(TERMS[1])))
    result = add("Mul", add("Mul", "X", number(0.5)), add("Add", bent, number(1.0)))
    return formula, [result], {"X": data}

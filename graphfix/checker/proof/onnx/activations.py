"""Activations by their formulas in ONNX: of float32, which kernels of their own round elsewhere."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.proof.onnx.formula import Formula, Found
from graphfix.checker.proof.onnx.types import dtype

if TYPE_CHECKING:
    from graphfix.checker.proof.onnx.operands import Call

TERMS = 0.044715, math.sqrt(2 / math.pi)
"""Of the approximation by a hyperbolic tangent: the factor of the cube, and of the sum."""


def gelu(call: Call) -> Found | None:
    """Gelu (since 20): x / 2 * (1 + erf(x / sqrt(2))), or the same by its approximation."""
    data, how = call.operand(0), call.attributes.get("approximate")
    form = b"none" if how is None else how.s
    if data is None or dtype(data.core) != TensorProto.FLOAT or form not in (b"none", b"tanh"):
        return None
    formula = Formula()
    add, number = formula.add, formula.floats
    if form == b"tanh":
        cube = add("Mul", add("Mul", "X", "X"), "X")
        inner = add("Add", "X", add("Mul", cube, number(TERMS[0])))
        bent = add("Tanh", add("Mul", inner, number(TERMS[1])))
    else:
        bent = add("Erf", add("Mul", "X", number(math.sqrt(0.5))))
    result = add("Mul", add("Mul", "X", number(0.5)), add("Add", bent, number(1.0)))
    return formula, [result], {"X": data}

"""Each operator of the proof's table: one that computes element by element, broadcasts, or keeps a state."""

from __future__ import annotations

import pytest

from models.builders.tflite.text import model
from tests.support.proved import unproved

COMPLEX = ("REAL", "IMAG", "COMPLEX_ABS")
UNARY = (
    "ABS NEG CEIL FLOOR ROUND COS SIN EXP LOG SQRT RSQRT SQUARE RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 ELU LEAKY_RELU"
    " LOGISTIC TANH HARD_SWISH GELU LOGICAL_NOT SIGN CAST DEQUANTIZE QUANTIZE REAL IMAG COMPLEX_ABS"
).split()
EACH = (
    "ADD SUB MUL DIV POW FLOOR_DIV FLOOR_MOD SQUARED_DIFFERENCE LESS LESS_EQUAL GREATER GREATER_EQUAL EQUAL NOT_EQUAL"
    " LOGICAL_AND LOGICAL_OR BITWISE_XOR RIGHT_SHIFT MAXIMUM MINIMUM"
).split()
TYPES = {
    **dict.fromkeys(COMPLEX, ("complex64", "float32")),
    **dict.fromkeys(("LOGICAL_NOT", "LOGICAL_AND", "LOGICAL_OR"), ("bool", "bool")),
    **dict.fromkeys("LESS LESS_EQUAL GREATER GREATER_EQUAL EQUAL NOT_EQUAL".split(), ("float32", "bool")),
    **dict.fromkeys(("BITWISE_XOR", "RIGHT_SHIFT", "POW"), ("int32", "int32")),
    "CAST": ("int32", "float32"),
    "DEQUANTIZE": ("int8", "float32"),
    "QUANTIZE": ("float32", "int8"),
}


def types(op: str) -> tuple[str, str]:
    return TYPES.get(op, ("float32", "float32"))


@pytest.mark.parametrize("op", UNARY)
def test_an_axis_may_be_added_before_or_behind_an_operator_of_each_element(op: str) -> None:
    taken, made = types(op)
    options = ", in_data_type=INT32, out_data_type=FLOAT32" if op == "CAST" else ""
    axis = "a:const:int32[]{0}"
    before = f"r:{taken}[1,3] = EXPAND_DIMS(x:{taken}[3], {axis})\ny:{made}[1,3] = {op}(r{options})"
    behind = f"r:{made}[3] = {op}(x:{taken}[3]{options})\ny:{made}[1,3] = EXPAND_DIMS(r, {axis})"
    assert unproved(model(before), model(behind)) is None


@pytest.mark.parametrize("op", EACH)
def test_an_operand_that_broadcasts_may_be_lifted(op: str) -> None:
    taken, made = types(op)
    implicit = f"y:{made}[2,3] = {op}(x:{taken}[2,3], b:{taken}[3])"
    lifted = f"r:{taken}[1,3] = EXPAND_DIMS(b:{taken}[3], a:const:int32[]{{0}})\n"
    explicit = f"subgraph main(x:{taken}[2,3], b:{taken}[3]):\n{lifted}y:{made}[2,3] = {op}(x, r)"
    assert unproved(model(implicit), model(explicit)) is None


ORDERED = {
    "RANDOM_UNIFORM": ("a[2] = RANDOM_UNIFORM({0})", "b[2] = RANDOM_UNIFORM({0})"),
    "RANDOM_STANDARD_NORMAL": ("a[2] = RANDOM_STANDARD_NORMAL({0})", "b[2] = RANDOM_STANDARD_NORMAL({0})"),
    "a custom operator": ("a[2] = CUSTOM.Op({0})", "b[2] = CUSTOM.Op({0})"),
}
SAME = {"ZEROS": ("a[2] = FILL({0}, u:const[]{{1.0}})", "b[2] = FILL({0}, u:const[]{{1.0}})")}


@pytest.mark.parametrize("name", ORDERED)
def test_two_nodes_with_a_state_are_two_values(name: str) -> None:
    one, two = (line.format("s:int32[1]") for line in ORDERED[name])
    before, after = (model(f"{one}\n{two}\ny[2] = SUB({pair})") for pair in ("a, b", "a, a"))
    assert unproved(before, before) is None
    assert unproved(before, after) is not None


def test_two_nodes_without_a_state_are_one_value() -> None:
    one, two = (line.format("s:int32[1]") for line in SAME["ZEROS"])
    before, after = (model(f"{one}\n{two}\ny[2] = SUB({pair})", outputs=["a", "b", "y"]) for pair in ("a, b", "a, a"))
    assert unproved(before, after) is None

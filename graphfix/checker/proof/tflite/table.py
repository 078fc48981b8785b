"""Which TFLite operators broadcast, and how: the proof's own table, from the operators' definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

EACH: Final = frozenset(
    "ADD SUB MUL DIV POW FLOOR_DIV FLOOR_MOD SQUARED_DIFFERENCE LESS LESS_EQUAL GREATER GREATER_EQUAL EQUAL NOT_EQUAL"
    " LOGICAL_AND LOGICAL_OR BITWISE_XOR RIGHT_SHIFT MAXIMUM MINIMUM SELECT_V2".split()
)
"""One element of each operand for each element of the result, right-aligned."""

UNARY: Final = frozenset(
    "ABS NEG CEIL FLOOR ROUND COS SIN EXP LOG SQRT RSQRT SQUARE RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 ELU LEAKY_RELU"
    " LOGISTIC TANH HARD_SWISH GELU LOGICAL_NOT SIGN CAST DEQUANTIZE QUANTIZE REAL IMAG".split()
)
"""One element of the operand for each element of the result."""

STATEFUL: Final = frozenset(
    "READ_VARIABLE ASSIGN_VARIABLE VAR_HANDLE HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE CALL_ONCE"
    " RANDOM_STANDARD_NORMAL RANDOM_UNIFORM MULTINOMIAL STABLEHLO_RNG_BIT_GENERATOR STABLEHLO_CUSTOM_CALL CALL".split()
)
"""Their results depend on what was done before, or changes it: their order counts."""

LOADED: Final[Mapping[str, tuple[int, int]]] = {
    "BROADCAST_TO": (2, 4), "TILE": (1, 2), "CAST": (1, 9), "GATHER": (1, 8), "CONCATENATION": (1, 7), "PACK": (1, 5),
    "STRIDED_SLICE": (1, 4), "SLICE": (1, 8), "ADD": (1, 5), "SUB": (1, 5), "MUL": (1, 7), "FLOOR_DIV": (1, 3),
    "DIV": (1, 2), "FLOOR_MOD": (1, 2), "MAXIMUM": (1, 4), "MINIMUM": (1, 4), "SPLIT": (1, 5), "SPLIT_V": (1, 3),
}  # fmt: skip
"""The first and the last version that every kernel set of LiteRT 2.3 loads of operators that are read as views.

Of those that are not named here it loads 1 alone."""

CHOOSING: Final = frozenset({"SELECT", "SELECT_V2"})
"""Where each operand has one element, their result keeps the shape that the file declares."""

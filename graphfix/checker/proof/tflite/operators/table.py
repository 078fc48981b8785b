"""The proof's table of TFLite operators: which operators broadcast, and how. From the operators' definitions."""

from __future__ import annotations

from typing import Final

EACH: Final = frozenset(
    "ADD SUB MUL DIV POW FLOOR_DIV FLOOR_MOD SQUARED_DIFFERENCE LESS LESS_EQUAL GREATER GREATER_EQUAL EQUAL NOT_EQUAL"
    " LOGICAL_AND LOGICAL_OR BITWISE_XOR RIGHT_SHIFT MAXIMUM MINIMUM SELECT_V2".split()
)
"""Operators that compute each result element from one element of each operand. Operands broadcast, right-aligned."""

UNARY: Final = frozenset(
    "ABS NEG CEIL FLOOR ROUND COS SIN EXP LOG SQRT RSQRT SQUARE RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 ELU LEAKY_RELU"
    " LOGISTIC TANH HARD_SWISH GELU LOGICAL_NOT SIGN CAST DEQUANTIZE QUANTIZE REAL IMAG COMPLEX_ABS".split()
)
"""Operators that compute each result element from one element of the operand."""

STATEFUL: Final = frozenset(
    "READ_VARIABLE ASSIGN_VARIABLE VAR_HANDLE HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE CALL_ONCE"
    " RANDOM_STANDARD_NORMAL RANDOM_UNIFORM MULTINOMIAL STABLEHLO_RNG_BIT_GENERATOR STABLEHLO_CUSTOM_CALL CALL".split()
)
"""Operators with a state: they depend on earlier operators, or change the results of later ones.

Their order matters.
"""

CHOOSING: Final = frozenset({"SELECT", "SELECT_V2"})
"""Operators whose result has the shape that the file declares if each operand has one element."""

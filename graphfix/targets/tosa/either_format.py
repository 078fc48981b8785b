"""Reasons and limits of TOSA 1.0 at level 8k for both formats; `onnx` and `tflite` contain those of one format.

Each entry was observed in the converters and the reference model (docs/decisions.md). Some nodes are refused with the
name of another operator, some end the process, and some convert without a message and compute another result.
"""

from __future__ import annotations

from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE

MAX_RANK = 6
NO_FORM = "the converters to TOSA have no form for it"
LOOP = "it runs a body again and again, and the converters to TOSA write no loops"
TRIPS = f"{LOOP}; --set NAME=VALUE makes a constant of an input that decides how often it runs"
CONDITION = "its condition is known only at run time; --set NAME=VALUE makes a constant of an input that decides it"
NEGATIVE_BASE = "its base may be negative, and tosa.pow of a negative base is unpredictable"
WRONG = "it converts without a word, and TOSA computes something else"
KEPT_CUSTOM = "it is a custom operator: TOSA keeps it as tosa.custom, and only its owner can run it"
UINT8 = "TOSA's profiles have no uint8"
CAST_OF_INT4 = "the converter casts its int4 weights to floats, a cast that TOSA does not have"
PASSED = frozenset({CONDITION, NEGATIVE_BASE, KEPT_CUSTOM, UINT8, CAST_OF_INT4})
"""Reasons after which the model may still convert. They are reported, and a conversion is tried."""
NEVER_NEGATIVE = frozenset(
    "Abs Sqrt Exp Relu Sigmoid Softmax Softplus ABS SQRT EXP RELU RELU6 LOGISTIC SOFTMAX SQUARE SQUARED_DIFFERENCE"
    " RSQRT ReduceL2 ReduceSumSquare".split()
)
"""Operators whose results are at least 0."""
TYPES = {
    "uint8": UINT8,
    "int64": "TOSA 1.0 has no int64, and nothing shows that its numbers fit into int32",
    "float64": "TOSA has no float64",
    "string": "TOSA has no strings",
}
NARROW = frozenset({"int8", "int16"})
UNSIGNED = frozenset({"uint16", "uint32", "uint64"})
"""Element types that TOSA's profiles lack. torch-mlir reads their numbers as signed numbers."""
INT32 = (-(2**31), 2**31 - 1)
"""The smallest and the largest number of int32."""
CUSTOM = frozenset({"tflite.custom"})
ELEMENT_WISE = frozenset({"multidirectional", "unidirectional"})
STANDARD = frozenset({"", TFLITE})


def never_negative(value: Value) -> bool:
    """Return whether each element is provably 0 or more: in a constant, or as the result of an operator like Abs."""
    if value.kind == "constant":
        numbers = value.literal
        return numbers is not None and all(isinstance(n, (int, float)) and n >= 0 for n in numbers)
    return value.producer is not None and value.producer.op in NEVER_NEGATIVE


def power(node: Node) -> str | None:
    """Return why this power can't be converted correctly (its base may be negative), or None."""
    return None if never_negative(node.operand(0)) else NEGATIVE_BASE

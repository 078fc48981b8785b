"""What TOSA 1.0 at level 8k and its converters can't take, as tables (both formats).

Each line is what the converters and the reference model were seen to do (docs/decisions.md): some refuse with the name
of another operator, some end the process, and some convert without a word and compute something else.
"""

from __future__ import annotations

from graphfix.operators.row import TFLITE

MAX_RANK = 6
NO_FORM = "the converters to TOSA have no form for it"
LOOP = "it runs a body again and again, and the converters to TOSA write no loops"
WRONG = "it converts without a word, and TOSA computes something else"
UNSUPPORTED: dict[tuple[str, str], str] = {
    **dict.fromkeys((("", "LSTM"), ("", "GRU"), ("", "RNN"), ("", "Loop"), ("", "Scan")), LOOP),
    **dict.fromkeys(((TFLITE, "WHILE"), (TFLITE, "UNIDIRECTIONAL_SEQUENCE_LSTM"), (TFLITE, "LSTM")), LOOP),
    ("", "If"): "its condition is known only at run time",
    (TFLITE, "IF"): "its condition is known only at run time",
    ("com.microsoft", "DynamicQuantizeLSTM"): LOOP,
    (TFLITE, "FLOOR_MOD"): WRONG,
    (TFLITE, "COMPLEX_ABS"): NO_FORM,
    (TFLITE, "RIGHT_SHIFT"): NO_FORM,
    ("", "NonZero"): NO_FORM,
    (TFLITE, "WHERE"): NO_FORM,
    (TFLITE, "NON_MAX_SUPPRESSION_V4"): NO_FORM,
    (TFLITE, "NON_MAX_SUPPRESSION_V5"): NO_FORM,
    ("", "NonMaxSuppression"): NO_FORM,
    (TFLITE, "DENSIFY"): "what it unpacks is not known before the model runs",
}
POWERS = frozenset({("", "Pow"), (TFLITE, "POW")})
NEVER_NEGATIVE = frozenset(
    "Abs Sqrt Exp Relu Sigmoid Softmax Softplus ABS SQRT EXP RELU RELU6 LOGISTIC SOFTMAX SQUARE SQUARED_DIFFERENCE"
    " RSQRT ReduceL2 ReduceSumSquare".split()
)
"""Operators whose results are at least 0."""
TYPES = {
    "uint8": "TOSA's profiles have no uint8",
    "int64": "TOSA 1.0 has no int64",
    "float64": "TOSA has no float64",
    "string": "TOSA has no strings",
}
COMPARISONS = frozenset("LESS LESS_EQUAL GREATER GREATER_EQUAL EQUAL NOT_EQUAL".split())
GATHERS = frozenset({("", "Gather"), ("", "GatherElements"), ("", "GatherND")})
NARROW = frozenset({"int8", "int16"})
RESIZES = frozenset({("half_pixel", "linear"), ("align_corners", "linear"), ("half_pixel", "bilinear")})
CUSTOM = frozenset({"tflite.custom"})
ELEMENT_WISE = frozenset({"multidirectional", "unidirectional"})
STANDARD = frozenset({"", TFLITE})

"""What tosa-converter-for-tflite can't take, or takes and gets wrong, as tables (see `tosa`)."""

from __future__ import annotations

from graphfix.operators.tosa import CONDITION, LOOP, NO_FORM

WRONG = "it converts without a word, and TOSA computes something else"
UNSUPPORTED: dict[str, str] = {
    **dict.fromkeys(("WHILE", "UNIDIRECTIONAL_SEQUENCE_LSTM", "LSTM"), LOOP),
    "IF": CONDITION,
    "FLOOR_MOD": WRONG,
    "COMPLEX_ABS": NO_FORM,
    "RIGHT_SHIFT": NO_FORM,
    "WHERE": NO_FORM,
    "NON_MAX_SUPPRESSION_V4": NO_FORM,
    "NON_MAX_SUPPRESSION_V5": NO_FORM,
    "DENSIFY": "what it unpacks is not known before the model runs",
}
COMPARISONS = frozenset("LESS LESS_EQUAL GREATER GREATER_EQUAL EQUAL NOT_EQUAL".split())
NARROW = frozenset({"int8", "int16"})

"""What tosa-converter-for-tflite can't take, or takes and gets wrong, as tables (see `tosa`).

docs/tosa-values-tflite.md has what each line is from: every operator, its types, what it was tried on.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from graphfix.operators.tosa import CONDITION, LOOP, NO_FORM, TRIPS

WRONG = "it converts without a word, and TOSA computes something else"
STATE = "it keeps a state, and the converter writes variables that no TOSA tool reads"
STABLEHLO = "STABLEHLO_"
"""The prefix of StableHLO's operators. None of the 32 operators that were tried converts."""
LEFT_OUT = "the converter leaves the operators of StableHLO as they are"
UNSUPPORTED: dict[str, str] = {
    **dict.fromkeys(
        "UNIDIRECTIONAL_SEQUENCE_LSTM LSTM RNN UNIDIRECTIONAL_SEQUENCE_RNN BIDIRECTIONAL_SEQUENCE_LSTM"
        " BIDIRECTIONAL_SEQUENCE_RNN".split(),
        LOOP,
    ),
    **dict.fromkeys(
        "COMPLEX_ABS RIGHT_SHIFT WHERE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 CUMSUM TOPK_V2 FILL"
        " LOCAL_RESPONSE_NORMALIZATION REVERSE_SEQUENCE DYNAMIC_UPDATE_SLICE EMBEDDING_LOOKUP SEGMENT_SUM"
        " UNSORTED_SEGMENT_SUM UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN MATRIX_DIAG"
        " MATRIX_SET_DIAG BITCAST SPARSE_TO_DENSE UNIQUE L2_POOL_2D RANDOM_UNIFORM RANDOM_STANDARD_NORMAL"
        " MULTINOMIAL".split(),
        NO_FORM,
    ),
    **dict.fromkeys("SVDF VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE CALL_ONCE".split(), STATE),
    "WHILE": TRIPS,
    "IF": CONDITION,
    "FLOOR_MOD": WRONG,
    "ROUND": f"numbers halfway between two it rounds up, LiteRT to the even one: {WRONG}",
    "DENSIFY": "what it unpacks is not known before the model runs",
}
DEPENDENCIES = "model_control_dependencies"
"""The entry that orders operators. It is redundant in a model without state, where the operands order them."""
METADATA: Mapping[str, str] = MappingProxyType(
    {
        "keep_stablehlo_constant": "with it the converter leaves every constant as stablehlo.constant",
        DEPENDENCIES: "the converter reads its edges as tfl.control_node, and refuses the model",
    }
)
"""Metadata entry -> what the converter does if a file has the entry, whatever its content is."""
COMPARISONS = frozenset("LESS LESS_EQUAL GREATER GREATER_EQUAL EQUAL NOT_EQUAL".split())
NARROW = frozenset({"int8", "int16"})
UNSIGNED = frozenset({"uint16", "uint32", "uint64"})
BY_TYPE: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **dict.fromkeys(COMPARISONS, NARROW),
        **dict.fromkeys(("EQUAL", "NOT_EQUAL"), NARROW | {"bool"}),
        **dict.fromkeys(("ABS", "SIGN", "SQRT"), NARROW),
        **dict.fromkeys(("EXP", "LOG", "RSQRT", "GELU", "HARD_SWISH"), frozenset({"int16"})),
        **dict.fromkeys(("DIV", "FLOOR_DIV", "LOG_SOFTMAX", "L2_NORMALIZATION"), frozenset({"int8"})),
        **dict.fromkeys(("MEAN", "REDUCE_PROD", "ARG_MAX"), frozenset({"int32"})),
        "ARG_MIN": frozenset({"int8", "int32"}),
        **dict.fromkeys(("GATHER", "GATHER_ND"), frozenset({"bool"})),
    }
)
"""Operator -> the types of its operand 0 that the converter has no form for, or one that TOSA 1.0 has not."""
WRONG_BY_TYPE: Mapping[str, frozenset[str]] = MappingProxyType({"NEG": NARROW, "SUM": frozenset({"int16"})})
"""The same of those that it gets wrong: it negates what int8 numbers stand for, and shifts int16 out of 32 bits."""

"""The reviewed list: all other builtin operators of TFLite's schema, which do not broadcast.

Reviewed: the schemas of ai-edge-litert 2.3 and tflite 2.18. A name applies to all versions of its operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.operators.row import TFLITE

if TYPE_CHECKING:
    from collections.abc import Mapping

REVIEWED: Mapping[str, str] = {
    "one tensor and options, or none": """
        ABS AVERAGE_POOL_2D BITCAST BUCKETIZE CAST CEIL COMPLEX_ABS COS DENSIFY DEPTH_TO_SPACE DEQUANTIZE ELU EXP
        FAKE_QUANT FLOOR GELU HARD_SWISH IMAG L2_NORMALIZATION L2_POOL_2D LEAKY_RELU LOCAL_RESPONSE_NORMALIZATION LOG
        LOGICAL_NOT LOGISTIC LOG_SOFTMAX MATRIX_DIAG MAX_POOL_2D NEG QUANTIZE RANK REAL RELU RELU6 RELU_0_TO_1
        RELU_N1_TO_1 ROUND RSQRT SHAPE SIGN SIN SKIP_GRAM SOFTMAX SPACE_TO_DEPTH SQRT SQUARE SQUEEZE TANH UNIQUE UNPACK
        WHERE ZEROS_LIKE
    """,
    "the further operands are axes, sizes, counts, indices or bounds": """
        ARG_MAX ARG_MIN BATCH_TO_SPACE_ND BROADCAST_ARGS CUMSUM DILATE DYNAMIC_UPDATE_SLICE EMBEDDING_LOOKUP
        EMBEDDING_LOOKUP_SPARSE EXPAND_DIMS GATHER GATHER_ND MEAN MIRROR_PAD MULTINOMIAL NON_MAX_SUPPRESSION_V4
        NON_MAX_SUPPRESSION_V5 PAD PADV2 RANDOM_STANDARD_NORMAL RANDOM_UNIFORM REDUCE_ALL REDUCE_ANY REDUCE_MAX
        REDUCE_MIN REDUCE_PROD REDUCE_WINDOW RESHAPE RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR REVERSE_SEQUENCE
        REVERSE_V2 RFFT2D SCATTER_ND SEGMENT_SUM SLICE SPACE_TO_BATCH_ND SPLIT SPLIT_V STRIDED_SLICE SUM TILE TOPK_V2
        TRANSPOSE UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_SUM
    """,
    "the values are scalars by definition": "FILL ONE_HOT RANGE SPARSE_TO_DENSE",
    "the bias is a per-axis parameter, and a weight follows axes of the input": """
        CONV_2D CONV_3D CONV_3D_TRANSPOSE DEPTHWISE_CONV_2D FULLY_CONNECTED TRANSPOSE_CONV
    """,
    "recurrence: weights and biases are per-axis parameters, all sizes are exact": """
        BIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_RNN LSTM RNN SVDF UNIDIRECTIONAL_SEQUENCE_LSTM
        UNIDIRECTIONAL_SEQUENCE_RNN
    """,
    "operands are joined or exchanged: all other sizes are exact": """
        CONCATENATION CONCAT_EMBEDDINGS MATRIX_SET_DIAG PACK
    """,
    "tables, variables and hashes": """
        ASSIGN_VARIABLE HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_LOOKUP HASHTABLE_SIZE LSH_PROJECTION
        READ_VARIABLE VAR_HANDLE
    """,
    "bodies, delegates and operators that the file names itself": """
        CALL CALL_ONCE CUSTOM DELEGATE IF STABLEHLO_CASE STABLEHLO_COMPOSITE STABLEHLO_CUSTOM_CALL STABLEHLO_WHILE WHILE
    """,
    "no operator: the code that says the code stands in a wider field": "PLACEHOLDER_FOR_GREATER_OP_CODES",
    "StableHLO of one tensor and options": """
        STABLEHLO_ABS STABLEHLO_CBRT STABLEHLO_CONVERT STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR
        STABLEHLO_IOTA STABLEHLO_LOG STABLEHLO_LOGISTIC STABLEHLO_NEGATE STABLEHLO_RESHAPE STABLEHLO_RNG_BIT_GENERATOR
        STABLEHLO_RSQRT STABLEHLO_SLICE STABLEHLO_TANH STABLEHLO_TRANSPOSE
    """,
    "StableHLO whose options or indices say which axes meet; scalars by definition": """
        STABLEHLO_CONCATENATE STABLEHLO_CONVOLUTION STABLEHLO_DOT_GENERAL STABLEHLO_DYNAMIC_SLICE
        STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_GATHER STABLEHLO_PAD STABLEHLO_REDUCE STABLEHLO_REDUCE_WINDOW
        STABLEHLO_SCATTER STABLEHLO_SORT
    """,
}
"""Reason -> the operators to which the reason applies, separated by spaces."""

NOT_BROADCASTING: frozenset[tuple[str, str]] = frozenset(
    (TFLITE, op) for names in REVIEWED.values() for op in names.split()
)
"""(domain, operator) of operators that have no broadcasting operand in any version."""

STATEFUL = frozenset(
    "READ_VARIABLE ASSIGN_VARIABLE VAR_HANDLE HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE CALL_ONCE CALL"
    " RANDOM_STANDARD_NORMAL RANDOM_UNIFORM MULTINOMIAL STABLEHLO_RNG_BIT_GENERATOR STABLEHLO_CUSTOM_CALL".split()
)
"""Operators whose results depend on operators that ran before, or that change the results of later operators."""

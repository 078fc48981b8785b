"""What Vela 5.2.0 places on an Ethos-U: the tables of `vela --supported-ops-report`, of all of its processors together.

An operator that is in no table runs on the CPU beside the NPU. One that is may do so too: the report names what else is
asked of its sizes, scales and attributes, and the last ones below are for the Ethos-U85 alone.
"""

from __future__ import annotations

OPERATORS = frozenset(
    (
        "ABS ADD ARG_MAX AVERAGE_POOL_2D BATCH_MATMUL CONCATENATION CONV_2D DEPTHWISE_CONV_2D ELU EXP EXPAND_DIMS"
        " FULLY_CONNECTED GELU HARD_SWISH LEAKY_RELU LOG LOGISTIC MAXIMUM MAX_POOL_2D MEAN MINIMUM MIRROR_PAD MUL NEG"
        " PACK PAD PADV2 PRELU QUANTIZE REDUCE_MAX REDUCE_MIN RELU RELU6"
        " RELU_0_TO_1 RELU_N1_TO_1 RESHAPE RESIZE_BILINEAR"
        " RESIZE_NEAREST_NEIGHBOR REVERSE_V2 RSQRT SLICE SOFTMAX SPLIT SPLIT_V SQUARED_DIFFERENCE SQUEEZE"
        " STRIDED_SLICE SUB SUM TANH TILE TRANSPOSE TRANSPOSE_CONV UNIDIRECTIONAL_SEQUENCE_LSTM UNPACK"
    ).split()
    + (
        "ASSIGN_VARIABLE CAST DIV EQUAL GATHER GREATER GREATER_EQUAL LESS LESS_EQUAL LOGICAL_AND LOGICAL_NOT LOGICAL_OR"
        " NOT_EQUAL READ_VARIABLE REDUCE_ALL REDUCE_ANY SCATTER_ND SELECT SELECT_V2"
    ).split()
)
"""What some Ethos-U runs; the second half is for the Ethos-U85."""
TYPES = frozenset({"int8", "uint8", "int16", "int32", "bool", "resource"})
"""The types of feature maps; those of 64 bits are listed as not supported."""

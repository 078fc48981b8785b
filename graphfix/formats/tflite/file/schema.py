"""The parts of the TFLite schema that graphfix uses: operators, element types, and the fields of each table.

Field numbers, types and defaults are those of the schema that LiteRT 2.3 contains; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from graphfix.results.records import dataclass

VERSION: Final = 3
"""The only schema version that has the identifier TFL3."""
CUSTOM: Final = 32
"""The builtin code of a custom operator, which has a name."""
LARGEST_DEPRECATED: Final = 127
"""The value of `deprecated_builtin_code`, a signed byte, for every operator whose code is 127 or greater."""

_NAMES: Final = """
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR
FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION
LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH
CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER
BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE
BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM
ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE
TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK
LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD
RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N
GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE
NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL
PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS HASHTABLE
HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE
BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1
UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR
RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE
STABLEHLO_CLAMP STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE
STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL
STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER
STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER STABLEHLO_COMPARE
STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD STABLEHLO_IOTA
STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE
DILATE STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT
STABLEHLO_CASE
"""

OPERATORS: Final[Mapping[int, str]] = dict(enumerate(_NAMES.split()))
"""The name of each builtin code; the codes have no gap."""
CODES: Final[Mapping[str, int]] = {name: code for code, name in OPERATORS.items()}
"""The builtin code of each operator name."""

TENSOR_TYPES: Final[Mapping[int, tuple[str, int | None]]] = {
    0: ("float32", 32),
    1: ("float16", 16),
    2: ("int32", 32),
    3: ("uint8", 8),
    4: ("int64", 64),
    5: ("string", None),
    6: ("bool", 8),
    7: ("int16", 16),
    8: ("complex64", 64),
    9: ("int8", 8),
    10: ("float64", 64),
    11: ("complex128", 128),
    12: ("uint64", 64),
    13: ("resource", None),
    14: ("variant", None),
    15: ("uint32", 32),
    16: ("uint16", 16),
    17: ("int4", 4),
    18: ("bfloat16", 16),
    19: ("int2", 2),
    20: ("uint4", 4),
    21: ("float8_e4m3fn", 8),
    22: ("float8_e5m2", 8),
}
"""For each number of an element type: its name, and the bits of one element.

The name is numpy's, or the schema's if numpy has none. The bits are None if elements have no fixed size.
"""
FLOAT32, INT32, INT64, STRING, BOOL = 0, 2, 4, 5, 6
UNSHAPED: Final = frozenset({"resource", "variant"})
"""Element types of tensors that contain other objects; the tensor's shape is not the shape of their contents."""
BYTE: Final = 8


def item_bytes(element: int) -> int:
    """Return the bytes of one element; 0 for types of less than a byte, and for types without a fixed size."""
    return (TENSOR_TYPES[element][1] or 0) // BYTE


REFERENCES: Final = frozenset({"o", "i*", "q*"})
"""The formats of fields that are references."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The fields of a table, by slot: names, formats and defaults."""

    table: str
    names: tuple[str, ...]
    formats: tuple[str, ...]
    """Formats of struct, or references: `i*` and `q*` to a vector of numbers, `o` to anything else."""
    defaults: tuple[int, ...]


def layout(table: str, fields: str) -> Layout:
    """Return the layout that a text describes, which has `name:format` or `name:format=default` for each slot."""
    names, formats, defaults = [], [], []
    for entry in fields.split():
        name, _, rest = entry.partition(":")
        form, _, default = rest.partition("=")
        names.append(name)
        formats.append(form)
        defaults.append(bool(default) if form == "?" else int(default or 0))
    return Layout(table, tuple(names), tuple(formats), tuple(defaults))


MODEL: Final = layout(
    "Model",
    "version:I operator_codes:o subgraphs:o description:o buffers:o metadata_buffer:o metadata:o signature_defs:o "
    "external_buffer_groups:o external_buffers:o",
)
SUBGRAPH: Final = layout("SubGraph", "tensors:o inputs:o outputs:o operators:o name:o debug_metadata_index:i=-1")
TENSOR: Final = layout(
    "Tensor",
    "shape:o type:b buffer:I name:o quantization:o is_variable:? sparsity:o shape_signature:o has_rank:? "
    "variant_tensors:o external_buffer:I",
)
OPERATOR: Final = layout(
    "Operator",
    "opcode_index:I inputs:o outputs:o builtin_options_type:B builtin_options:o custom_options:o "
    "custom_options_format:b mutating_variable_inputs:o intermediates:o large_custom_options_offset:Q "
    "large_custom_options_size:Q builtin_options_2_type:B builtin_options_2:o debug_metadata_index:i=-1",
)
OPERATOR_CODE: Final = layout("OperatorCode", "deprecated_builtin_code:b custom_code:o version:i=1 builtin_code:i")
BUFFER: Final = layout("Buffer", "data:o offset:Q size:Q")
QUANTIZATION: Final = layout(
    "QuantizationParameters", "min:o max:o scale:o zero_point:o details_type:B details:o quantized_dimension:i"
)
METADATA: Final = layout("Metadata", "name:o buffer:I")
SIGNATURE: Final = layout("SignatureDef", "inputs:o outputs:o signature_key:o unused:o subgraph_index:I")
TENSOR_MAP: Final = layout("TensorMap", "name:o tensor_index:I")
EXTERNAL_GROUP: Final = layout("ExternalBufferGroup", "name:o")

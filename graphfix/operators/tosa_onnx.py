"""What torch-mlir can't take of ONNX on the way to TOSA, or takes and gets wrong, as tables (see `tosa`)."""

from __future__ import annotations

from graphfix.operators.tosa import CONDITION, LOOP, NO_FORM

UNKNOWN = "torch-mlir has no form for it"
WRONG = "it converts without a word, and TOSA computes something else"
UNREAD = (
    "Acos Acosh Asin Asinh Atanh Attention Cosh GridSample GroupNormalization IsInf LRN Mish ReduceLogSumExp"
    " RMSNormalization RotaryEmbedding Sinh Softsign ThresholdedRelu".split()
)
"""Operators that it refuses whatever their operands, or makes float64 of."""
UNREAD_TYPES = {
    "Abs": frozenset({"int8"}),
    "Relu": frozenset({"int32"}),
    "Range": frozenset({"float32", "float64"}),
}
WRONG_TYPES = {"Neg": frozenset({"int8"})}
"""By operator: element types of its operand that are refused, and such as are taken and computed wrongly."""
UNSUPPORTED: dict[tuple[str, str], str] = {
    **dict.fromkeys((("", "LSTM"), ("", "GRU"), ("", "RNN"), ("", "Loop"), ("", "Scan")), LOOP),
    ("", "If"): CONDITION,
    ("com.microsoft", "DynamicQuantizeLSTM"): LOOP,
    ("", "NonZero"): NO_FORM,
    ("", "NonMaxSuppression"): NO_FORM,
    **{("", op): UNKNOWN for op in UNREAD},
}
RESIZES = frozenset({("half_pixel", "linear"), ("align_corners", "linear"), ("half_pixel", "bilinear")})
ITSELF = {**dict.fromkeys(("float16", "float32", "int32", "int64"), "Max"), "bool": "Or"}
"""Element type -> the operator by which a constant of it becomes an operand of a Concat: of the constant and itself."""

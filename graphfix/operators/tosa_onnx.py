"""What torch-mlir can't take of ONNX on the way to TOSA, or takes and gets wrong, as tables (see `tosa`)."""

from __future__ import annotations

from graphfix.operators.tosa import CONDITION, LOOP, NO_FORM, TRIPS

UNKNOWN = "torch-mlir has no form for it"
WRONG = "it converts without a word, and TOSA computes something else"
UNREAD = (
    "Acos Acosh AffineGrid Asin Asinh Atanh Attention Bernoulli BitCast Col2Im ConvInteger Cosh DFT DeformConv Det"
    " GridSample GroupNormalization IsInf LRN LpPool MaxUnpool Mish Multinomial RandomNormal RandomNormalLike"
    " RandomUniform RandomUniformLike ReduceLogSumExp RMSNormalization RoiAlign RotaryEmbedding Shrink Sinh Softsign"
    " Swish TensorScatter ThresholdedRelu".split()
)
"""Operators that it refuses whatever their operands, or makes float64 of."""
NARROW = frozenset({"int8", "int16"})
UNREAD_TYPES = {
    **dict.fromkeys(
        "Abs Add Clip CumSum Equal Greater GreaterOrEqual Less LessOrEqual MatMul Max Min Mod Mul Pow ReduceL1 ReduceL2"
        " ReduceMean ReduceProd ReduceSum ReduceSumSquare Sub Sum".split(),
        NARROW,
    ),
    "Pad": frozenset({"int16"}),
    "Relu": NARROW | {"int32"},
    "Range": NARROW | {"float32", "float64"},
}
WRONG_TYPES = {"Neg": frozenset({"int8"})}
"""By operator: element types of its operand that are refused, and such as are taken and computed wrongly."""
UNSUPPORTED: dict[tuple[str, str], str] = {
    **dict.fromkeys((("", op) for op in ("LSTM", "GRU", "RNN", "Scan", "ReverseSequence")), LOOP),
    ("", "Loop"): TRIPS,
    ("", "If"): CONDITION,
    ("com.microsoft", "DynamicQuantizeLSTM"): LOOP,
    ("", "NonZero"): NO_FORM,
    ("", "NonMaxSuppression"): NO_FORM,
    **{("", op): UNKNOWN for op in UNREAD},
}
UNSIGNED = frozenset({"uint16", "uint32", "uint64"})
"""Element types whose numbers torch-mlir takes for signed ones, where TOSA has a type for them at all."""
RESIZES = frozenset({("half_pixel", "linear"), ("align_corners", "linear"), ("half_pixel", "bilinear")})
ITSELF = {**dict.fromkeys(("float16", "float32", "int32", "int64"), "Max"), "bool": "Or"}
"""Element type -> the operator by which a constant of it becomes an operand of a Concat: of the constant and itself."""

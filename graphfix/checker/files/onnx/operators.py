"""The checker's own table of ONNX operators (which broadcast, and how), and onnx's definitions by operator set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import onnx

MS: Final = "com.microsoft"
LEARNING: Final = "ai.onnx.ml"
BLOCKED: Final = "com.microsoft.nchwc"
CHANNELS_LAST: Final = "com.ms.internal.nhwc"
LEGACY_END: Final = 7
"""The first operator set in which operands align as in numpy."""

EACH: Final = {
    **{
        ("", op): ()
        for op in (
            "Add Sub Mul Div Pow And Or Xor Equal Greater Less GreaterOrEqual LessOrEqual Mod BitShift BitwiseAnd"
            " BitwiseOr BitwiseXor StringConcat Where Max Min Sum Mean"
        ).split()
    },
    (MS, "QLinearAdd"): (0, 3),
    (MS, "QLinearMul"): (0, 3),
    (MS, "QLinearWhere"): (0, 1, 4),
    (MS, "MulInteger"): (0, 2),
}
"""One element of each operand for each element of the result, right-aligned. () is all operands, else those named."""

UNARY: Final = frozenset(
    ("", op)
    for op in (
        "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Cast Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid"
        " HardSwish IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh"
        " Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Clip"
        " CastLike BitCast"
    ).split()
) | frozenset((MS, op) for op in "Gelu QuickGelu FastGelu ScaledSiLU QLinearSigmoid QLinearLeakyRelu".split())
"""One element of operand 0 for each element of the result; further operands are read exactly."""

QUANTIZING: Final = frozenset(
    {("", "DequantizeLinear"), ("", "QuantizeLinear"), (MS, "DequantizeLinear"), (MS, "QuantizeLinear")}
)
"""Elementwise in operand 0; scale and zero point follow one axis of it, or none."""

ONTO: Final = {
    ("", "PRelu"): (1,),
    ("", "LayerNormalization"): (1, 2),
    ("", "SimplifiedLayerNormalization"): (1,),
    ("", "RMSNormalization"): (1,),
    (MS, "SkipLayerNormalization"): (1,),
    (MS, "SkipSimplifiedLayerNormalization"): (1,),
}
"""Operand 0 has the result's shape; those named broadcast onto it, right-aligned."""

ADDED: Final = "SimplifiedLayerNormalization"
"""An operator that onnxruntime adds to the standard domain."""

PRODUCTS: Final = {
    ("", "MatMul"): (0, 1),
    ("", "MatMulInteger"): (0, 1),
    ("", "QLinearMatMul"): (0, 3),
    (MS, "MatMulIntegerToFloat"): (0, 1),
    (MS, "MatMulInteger16"): (0, 1),
    (MS, "FusedMatMul"): (0, 1),
    (MS, "TransposeMatMul"): (0, 1),
    (MS, "FusedMatMulActivation"): (0, 1),
}
"""Stacks of matrices whose batch axes are broadcast; the last two axes of each are read exactly."""

GEMMS: Final = {("", "Gemm"): (0, 1, 2), (MS, "FusedGemm"): (0, 1, 2), (MS, "QGemm"): (0, 3, 6)}
"""(A, B, C): C broadcasts onto the product's two axes."""

LEGACY: Final = frozenset("Add Sub Mul Div Pow And Or Xor Equal Greater Less".split())
"""Before operator set 7 their operand 1 is aligned at `axis` of operand 0 where `broadcast` is 1."""

EQUAL_BEFORE_8: Final = frozenset("Max Min Sum Mean".split())
"""Their operands had one shape before operator set 8."""
WIDENED: Final = frozenset("AveragePool MaxPool".split())
"""Their versions up to 8 only allow more than those before."""

SAME_SHAPE: Final = frozenset(
    "Softmax LogSoftmax Hardmax BatchNormalization GroupNormalization LpNormalization"
    " MeanVarianceNormalization LRN CumSum CumProd Trilu ReverseSequence ScatterElements ScatterND Scatter"
    " TensorScatter SwiGLU EyeLike RandomNormalLike RandomUniformLike Bernoulli".split()
)
"""Operators of the standard set whose first result has the shape of operand 0."""

RANDOM: Final = frozenset("RandomNormal RandomUniform RandomNormalLike RandomUniformLike Multinomial Bernoulli".split())
"""Each node draws anew: no two are one value, and their order counts."""
RANDOM_ELSEWHERE: Final = frozenset(
    (MS, op) for op in ("BiasDropout", "BitmaskBiasDropout", "BitmaskDropout", "Sampling")
)
WRITING: Final = frozenset(
    (MS, op)
    for op in (
        "PagedAttention SparsePagedAttention SparseAttention ConvStateReplay GatedDeltaNetStateReplay"
        " SpeculativePrefixCommit EPContext Snpe".split()
    )
)
"""Operators that write into the buffer of an operand, or that run another program, which may have a state."""
SHARING: Final = "past_present_share_buffer"
"""An attribute: the operator writes the present into the buffer of the past."""
OF_ONE_VERSION: Final = frozenset({MS, BLOCKED})
"""Domains that have version 1 alone; onnxruntime takes their operators also in a model that does not import them."""
KNOWN_DOMAINS: Final = frozenset({"", LEARNING, MS, BLOCKED, CHANNELS_LAST})
"""In other domains an operator may keep a state: no two nodes are taken as one value."""

_VERSIONS: Final = 1 << 31
"""onnx counts operator sets below this number."""


def schema(op: str, domain: str, version: int) -> onnx.defs.OpSchema | None:
    """Return onnx's definition of an operator in an operator set; None if onnx has no definition."""
    if not (isinstance(op, str) and isinstance(domain, str) and 0 < version < _VERSIONS):
        return None  # a name that is not UTF-8 comes as bytes
    import onnx.defs  # imported here because the process of the runs reads the table without onnx

    try:
        return onnx.defs.get_schema(op, version, domain)
    except onnx.defs.SchemaError:
        return None


def since(op: str, domain: str, version: int) -> int:
    """Return the version in which an operator got the meaning that it has in an operator set.

    Returns `version` if onnx does not know the operator.
    """
    operator_schema = schema(op, domain, version)
    return version if operator_schema is None else int(operator_schema.since_version)

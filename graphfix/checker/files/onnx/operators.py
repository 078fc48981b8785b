"""The checker's table of ONNX operators (which operators broadcast, and how), and onnx's operator definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import onnx

MS: Final = "com.microsoft"
LEARNING: Final = "ai.onnx.ml"
BLOCKED: Final = "com.microsoft.nchwc"
CHANNELS_LAST: Final = "com.ms.internal.nhwc"
LEGACY_END: Final = 7
"""The first operator set in which operands are aligned as in numpy."""

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
"""Operators that compute each result element from one element of each operand. Operands broadcast, right-aligned.

The numbers are the indices of these operands; () means all operands.
"""

UNARY: Final = frozenset(
    ("", op)
    for op in (
        "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Cast Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid"
        " HardSwish IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh"
        " Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Clip"
        " CastLike BitCast"
    ).split()
) | frozenset((MS, op) for op in "Gelu QuickGelu FastGelu ScaledSiLU QLinearSigmoid QLinearLeakyRelu".split())
"""Operators that compute each result element from one element of operand 0. Further operands do not broadcast."""

QUANTIZING: Final = frozenset(
    {("", "DequantizeLinear"), ("", "QuantizeLinear"), (MS, "DequantizeLinear"), (MS, "QuantizeLinear")}
)
"""Operators that are element-wise in operand 0. Scale and zero point follow one axis of operand 0, or no axis."""

ONTO: Final = {
    ("", "PRelu"): (1,),
    ("", "LayerNormalization"): (1, 2),
    ("", "SimplifiedLayerNormalization"): (1,),
    ("", "RMSNormalization"): (1,),
    (MS, "SkipLayerNormalization"): (1,),
    (MS, "SkipSimplifiedLayerNormalization"): (1,),
}
"""Operators whose result has the shape of operand 0.

The operands with these indices broadcast onto it, right-aligned.
"""

ADDED: Final = "SimplifiedLayerNormalization"
"""An operator that onnxruntime adds to the standard domain. onnx does not define it."""

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
"""Operators that multiply stacks of matrices. For each operator, the indices of the two stacks.

The batch axes broadcast. The last two axes of each stack, the matrices, do not.
"""

GEMMS: Final = {("", "Gemm"): (0, 1, 2), (MS, "FusedGemm"): (0, 1, 2), (MS, "QGemm"): (0, 3, 6)}
"""The indices of the operands A, B and C. C broadcasts onto the two axes of the product of A and B."""

LEGACY: Final = frozenset("Add Sub Mul Div Pow And Or Xor Equal Greater Less".split())
"""Operators that, before operator set 7, align operand 1 at the axis `axis` of operand 0 if `broadcast` is 1."""

EQUAL_BEFORE_8: Final = frozenset("Max Min Sum Mean".split())
"""Operators whose operands must have equal shapes before operator set 8."""
WIDENED: Final = frozenset("AveragePool MaxPool".split())
"""Operators whose new versions up to operator set 8 only accept more. An older model keeps its meaning in set 8."""

SAME_SHAPE: Final = frozenset(
    "Softmax LogSoftmax Hardmax BatchNormalization GroupNormalization LpNormalization"
    " MeanVarianceNormalization LRN CumSum CumProd Trilu ReverseSequence ScatterElements ScatterND Scatter"
    " TensorScatter SwiGLU EyeLike RandomNormalLike RandomUniformLike Bernoulli".split()
)
"""Operators of the standard domain whose first result has the shape of operand 0."""

RANDOM: Final = frozenset("RandomNormal RandomUniform RandomNormalLike RandomUniformLike Multinomial Bernoulli".split())
"""Operators that draw random numbers. Two equal nodes have different results, and the order of nodes matters."""
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
"""Operators that write into the buffer of an operand, or that run another program, which may keep a state."""
SHARING: Final = "past_present_share_buffer"
"""The attribute by which an operator writes its present state into the buffer of the past state."""
OF_ONE_VERSION: Final = frozenset({MS, BLOCKED})
"""Domains that have only version 1.

onnxruntime accepts their operators even in a model that does not import the domain.
"""
KNOWN_DOMAINS: Final = frozenset({"", LEARNING, MS, BLOCKED, CHANNELS_LAST})
"""Domains whose operators are known. An operator of another domain may keep a state, so its nodes are never equal."""

_VERSIONS: Final = 1 << 31
"""onnx requires the number of an operator set to be below this number."""


def schema(op: str, domain: str, version: int) -> onnx.defs.OpSchema | None:
    """Return onnx's definition of an operator in an operator set.

    Returns None if onnx has no definition, or if the name, domain or version is not valid.
    """
    if not (isinstance(op, str) and isinstance(domain, str) and 0 < version < _VERSIONS):
        return None  # A name that is not valid UTF-8 is read as bytes.
    import onnx.defs  # The import is here because the process of the runs uses this table and does not load onnx.

    try:
        return onnx.defs.get_schema(op, version, domain)
    except onnx.defs.SchemaError:
        return None


def since(op: str, domain: str, version: int) -> int:
    """Return the version since which an operator has the meaning that it has in operator set `version`.

    Returns `version` if onnx does not define the operator.
    """
    operator_schema = schema(op, domain, version)
    return version if operator_schema is None else int(operator_schema.since_version)

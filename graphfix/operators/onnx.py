"""The catalogue's rows for ONNX and for onnxruntime's contrib domains, grouped by families of operators.

Per-axis parameters (scales, biases, zero points, bounds) are not operands of a row, because each follows one axis of
another operand and does not broadcast. Sources: the ONNX operator specification (operator sets 1 to 28), onnxruntime's
contrib schemas, and measurements with onnxruntime 1.31, which tests/operators repeats.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

from graphfix.operators.row import Exempt, Operand, Row, Style

MICROSOFT = "com.microsoft"
TRAINING = "ai.onnx.preview.training"

# Every reason completes the sentence "left alone because".
EXPONENT = Exempt(
    "a one-element exponent takes onnxruntime's exact fast path (x*x for 2, x*x*x for 3)",
    when="one element",
)
EXPONENT_RANK = Exempt(
    "with as many axes as the base, an exponent of one element takes another routine of onnxruntime",
    when="one element under ones",
)
WEIGHT = Exempt(
    "onnxruntime packs a constant matrix ahead of time only if its rank is 2; with a higher rank the last bits change",
    when="constant of rank 2",
)
BLOCKS = Exempt(
    "onnxruntime computes with a matrix in blocks of few bits as it is (MatMulNBits) only if its rank is 2",
    when="blocks of rank 2",
)
PROMOTED = Exempt("a rank-1 operand of a matrix product is promoted, not broadcast", when="rank 1")
PROMOTED_OR_WEIGHT = replace(PROMOTED, also=replace(WEIGHT, also=BLOCKS))
BATCH = Exempt(
    "stretching batch axes of a matrix product selects another kernel if operand 0 has one row: not bit-exact"
)
BATCH_EXACT = Exempt("stretching batch axes of a matrix product repeats a whole matrix for every product")
QUANTIZED = Exempt("its scale and zero point may follow its rows or columns and must then keep its rank")
NORM_RANK = Exempt("lifting a normalization's scale or bias keeps the runtime from fusing SkipLayerNormalization")
NORM_DIMS = Exempt("a full-size scale of a normalization takes another kernel of the runtime: not bit-exact")
EXPAND = Exempt("an Expand is a broadcast spelled out already: normalize-expand brings it to the standard form")
EINSUM = Exempt("the equation says how the operands of Einsum align, and an ellipsis stands for one rank only")
MASK = Exempt("an attention mask must have its last two sizes in full, and its batch and heads may be 1")
BETA = Exempt("beta's last size is 1 or the number of heads by definition, and its other sizes are exact")
GATE = Exempt("the gate's last size is 1 by definition, and its other sizes are exact")
GATES = Exempt("each gate belongs to one stream: gates (..., C) are not right-aligned under streams (..., C, H)")
COMPLEX = Exempt("the last axis of a complex product holds the two parts of a number and does not broadcast")
SOFTMAX_BIAS = Exempt("the attributes axis and is_inner_broadcast say how the bias aligns, not numpy's rule")
GROUP_SKIP = Exempt("skip is (N,H,W,C), (N,1,1,C) or (N,C), and the last is not right-aligned")
ORDERED = Exempt("the attributes order_A and order_B make the memory order part of what a shape means")
FLOAT8 = Exempt("the schema does not say how C broadcasts")
OPTIMIZER = Exempt("one learning rate and one step count serve any number of tensors")
FEATURES = Exempt("only an attribute of one element is repeated over the features, no operand is")

SAME_BITS = "onnxruntime: lifted and stretched operands give the same bits"
BUT_NAN = f"{SAME_BITS}; a stretched one may change the payload or sign of NaN and the sign of zero"
INT64_DEFECT = f"{BUT_NAN}; int64 of 2**31 and more: a defect of onnxruntime's vector path"
PACKING = "onnxruntime: lifted, the same bits unless a constant B was packed; stretched, not with M=1"
NO_KERNEL = "no CPU kernel in onnxruntime: from the schema's text"
NUMPY_ONLY = "no kernel in onnxruntime below operator set 7: from the specification, checked against numpy"
GATES_SAME_BITS = "onnxruntime: gates (..., C, 1) stretched to (..., C, H) give the same bits"
EXACT_MASK = "onnxruntime refuses a mask whose last two sizes are not exact"


def _operands(*indices: int, keep_rank: Exempt | None = None, keep_dims: Exempt | None = None) -> tuple[Operand, ...]:
    """Return operands with these indices, all with the same exemptions."""
    return tuple(Operand(index, keep_rank, keep_dims) for index in indices)


def _family(
    domain: str,
    names: str,
    style: Style,
    operands: tuple[Operand, ...],
    evidence: str,
    *,
    since: int = 1,
    **others: Any,  # noqa: ANN401 -- fields of `Row`, whose constructor refuses other names
) -> tuple[Row, ...]:
    """Return one row for each of the names. The name `Op:9` starts at version 9 instead of `since`.

    `others` are further fields of `Row`, equal in all rows.
    """
    shared = replace(Row(domain, "", since, None, style, operands, evidence=evidence), **others)
    words = [name.partition(":") for name in names.split()]
    return tuple(replace(shared, op=op, since=int(own_since or since)) for op, _, own_since in words)


def _own(
    domain: str, names: str, left: Exempt, indices: tuple[int, ...], evidence: str, *, since: int = 1
) -> tuple[Row, ...]:
    """Return rows of operators with a special rule, of style "own".

    If there are no indices, no operand is ever a site.
    """
    kept = _operands(*indices, keep_rank=left, keep_dims=left)
    return _family(domain, names, "own", kept, evidence, since=since, left=left)


_PAIRS = (
    "Sub Div And Or Xor Equal Greater Less GreaterOrEqual:12 LessOrEqual:12 Mod:10 BitShift:11"
    " BitwiseAnd:18 BitwiseOr:18 BitwiseXor:18 StringConcat:20"
)
_POW = (Operand(0), Operand(1, EXPONENT_RANK, EXPONENT))
_POW_EVIDENCE = "onnxruntime: a stretched exponent 2 or 3 differs in the last bits and is 29 times slower"
_ELEMENTWISE = (
    *_family("", _PAIRS, "multidirectional", _operands(0, 1), SAME_BITS, since=7),
    *_family("", "Add Mul", "multidirectional", _operands(0, 1), BUT_NAN, since=7),
    *_family("", "Pow", "multidirectional", _POW, _POW_EVIDENCE, since=7),
    *_family("", "Where", "multidirectional", _operands(0, 1, 2), SAME_BITS, since=9),
    # Versions before 8 require equal shapes and have no row (EQUAL_SHAPES_BEFORE).
    *_family("", "Max Min", "multidirectional", (), INT64_DEFECT, variadic=True, since=8),
    *_family("", "Sum Mean", "multidirectional", (), BUT_NAN, variadic=True, since=8),
    *_family(MICROSOFT, "QLinearAdd QLinearMul", "multidirectional", _operands(0, 3), SAME_BITS),
    *_family(MICROSOFT, "QLinearWhere", "multidirectional", _operands(0, 1, 4), SAME_BITS),
    *_family(MICROSOFT, "MulInteger", "multidirectional", _operands(0, 2), NO_KERNEL),
)

_SCALE = _operands(1, keep_rank=NORM_RANK, keep_dims=NORM_DIMS)
_SCALE_AND_BIAS = _operands(1, 2, keep_rank=NORM_RANK, keep_dims=NORM_DIMS)
_NORM_EVIDENCE = "onnxruntime: lifted scales give the same bits, full-size ones differ by up to 1e-6"
_SKIP_EVIDENCE = f"{SAME_BITS}; skip is (B,S,H), (1,S,H) or (S,H), all other shapes are refused"
_PRELU_EVIDENCE = f"{BUT_NAN}; onnxruntime also stretches operand 0, against the specification"
_ONTO_ONE = (
    *_family("", "PRelu", "unidirectional", _operands(1), _PRELU_EVIDENCE, onto=0, since=7),
    # onnxruntime registers these two in ONNX's domain from version 1. ONNX itself has LayerNormalization from 17.
    *_family("", "LayerNormalization", "unidirectional", _SCALE_AND_BIAS, _NORM_EVIDENCE, onto=0),
    *_family("", "SimplifiedLayerNormalization", "unidirectional", _SCALE, _NORM_EVIDENCE, onto=0),
    *_family("", "RMSNormalization", "unidirectional", _SCALE, _NORM_EVIDENCE, onto=0, since=23),
    *_family(
        MICROSOFT,
        "SkipLayerNormalization SkipSimplifiedLayerNormalization",
        "unidirectional",
        _operands(1),
        _SKIP_EVIDENCE,
        onto=0,
        max_rank=3,
    ),
)

_GEMM_EVIDENCE = f"{SAME_BITS}; C of rank 3 is refused"
_GEMM = (
    *_family("", "Gemm", "gemm", _operands(2), _GEMM_EVIDENCE, product=(0, 1), max_rank=2, since=7),
    *_family(MICROSOFT, "FusedGemm", "gemm", _operands(2), _GEMM_EVIDENCE, product=(0, 1), max_rank=2),
    *_family(MICROSOFT, "QGemm", "gemm", _operands(6), _GEMM_EVIDENCE, product=(0, 3), max_rank=2),
)

_FACTORS = (Operand(0, PROMOTED, BATCH), Operand(1, PROMOTED_OR_WEIGHT, BATCH))
_INTEGERS = _operands(0, 1, keep_rank=PROMOTED, keep_dims=BATCH_EXACT)
_QUANTIZED = _operands(0, 1, keep_rank=QUANTIZED, keep_dims=BATCH_EXACT)
_QUANTIZED_APART = _operands(0, 3, keep_rank=QUANTIZED, keep_dims=BATCH_EXACT)
_QUANTIZED_EVIDENCE = "onnxruntime refuses a per-column zero point of another rank than B"
_MATMUL = (
    *_family("", "MatMul", "matmul", _FACTORS, PACKING),
    *_family("", "MatMulInteger", "matmul", _QUANTIZED, _QUANTIZED_EVIDENCE, since=10),
    *_family("", "QLinearMatMul", "matmul", _QUANTIZED_APART, _QUANTIZED_EVIDENCE, since=10),
    *_family(MICROSOFT, "MatMulIntegerToFloat", "matmul", _QUANTIZED, _QUANTIZED_EVIDENCE),
    *_family(MICROSOFT, "DynamicQuantizeMatMul", "matmul", _QUANTIZED, _QUANTIZED_EVIDENCE),
    *_family(MICROSOFT, "MatMulInteger16", "matmul", _INTEGERS, SAME_BITS),
    # transBatchA and transBatchB require operands of equal rank, of at least 3, so there is nothing to lift.
    *_family(MICROSOFT, "FusedMatMul TransposeMatMul", "matmul", _FACTORS, PACKING),
    *_family(MICROSOFT, "FusedMatMulActivation", "matmul", _FACTORS, NO_KERNEL),
)

_LEGACY_PAIRS = "Add Sub Mul Div Pow And Or Xor Equal Greater Less"
_LEGACY = (
    *_family("", _LEGACY_PAIRS, "legacy", _operands(1), NUMPY_ONLY, until=6, onto=0),
    *_family("", "Gemm", "legacy", _operands(2), NUMPY_ONLY, until=6, product=(0, 1), max_rank=2),
    *_family("", "PRelu", "legacy", _operands(1), NUMPY_ONLY, until=6, onto=0, channel_axis=1),
)

_OWN = (
    *_own("", "Expand", EXPAND, (), "its input and its shape operand broadcast both ways", since=8),
    *(
        replace(row, variadic=True)
        for row in _own("", "Einsum", EINSUM, (), "onnx refuses ellipses of different rank", since=12)
    ),
    *_own("", "Attention", MASK, (3,), EXACT_MASK, since=23),
    *_own("", "LinearAttention", BETA, (5,), "no kernel in onnxruntime: from the specification", since=27),
    *_own(MICROSOFT, "Attention MultiHeadAttention", MASK, (5,), EXACT_MASK),
    *_own(MICROSOFT, "DecoderMaskedMultiHeadAttention", MASK, (4,), EXACT_MASK),
    *_own(MICROSOFT, "GroupQueryAttention", MASK, (10,), EXACT_MASK),
    *_own(MICROSOFT, "PackedAttention DecoderMaskedSelfAttention", MASK, (5,), NO_KERNEL),
    *_own(MICROSOFT, "PackedMultiHeadAttention", MASK, (6,), NO_KERNEL),
    *_own(MICROSOFT, "QOrderedAttention", MASK, (19,), NO_KERNEL),
    *_own(MICROSOFT, "LinearAttention", BETA, (5,), "onnxruntime takes beta (B,T,1) and (B,T,heads) only"),
    *_own(MICROSOFT, "GatedAdd", GATE, (2,), "onnxruntime refuses a gate other than (..., 1)"),
    *(replace(row, onto=0) for row in _own(MICROSOFT, "HyperConnectionPreMix", GATES, (1,), GATES_SAME_BITS)),
    *(replace(row, onto=0) for row in _own(MICROSOFT, "HyperConnectionPostMix", GATES, (2,), GATES_SAME_BITS)),
    *_own(MICROSOFT, "ComplexMul ComplexMulConj", COMPLEX, (0, 1), NO_KERNEL),
    *_own(MICROSOFT, "BiasSoftmax", SOFTMAX_BIAS, (1,), NO_KERNEL),
    *_own(MICROSOFT, "SkipGroupNorm", GROUP_SKIP, (3,), NO_KERNEL),
    *_own(MICROSOFT, "QOrderedMatMul", ORDERED, (0, 2, 6), NO_KERNEL),
    *_own(MICROSOFT, "GemmFloat8", FLOAT8, (2,), NO_KERNEL),
    *_own(TRAINING, "Adagrad Adam Momentum", OPTIMIZER, (0, 1), NO_KERNEL),
    *_own("ai.onnx.ml", "Imputer Scaler", FEATURES, (), "onnxruntime repeats an attribute of one element"),
)

ROWS: tuple[Row, ...] = tuple(chain(_ELEMENTWISE, _ONTO_ONE, _GEMM, _MATMUL, _LEGACY, _OWN))

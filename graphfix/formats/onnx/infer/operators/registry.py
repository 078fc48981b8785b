"""Shape rules by operator: dims as terms, as far as they follow from operands and attributes.

Sources: the ONNX operator specification; broadcasting operators follow their row of the catalogue. A rule returns one
shape a result, or None where it does not know it; it never guesses.
"""

from __future__ import annotations

from graphfix import operators
from graphfix.formats.onnx.infer import contrib
from graphfix.formats.onnx.infer import rules_sequences as sequences
from graphfix.formats.onnx.infer import rules_states as states
from graphfix.formats.onnx.infer.call import NOTHING, Call, Results, Rule
from graphfix.formats.onnx.infer.operators import attention, reductions, windows
from graphfix.formats.onnx.infer.operators import reshaping as layout
from graphfix.formats.onnx.infer.operators import sequences as sequence_values
from graphfix.formats.onnx.infer.operators import slicing as parts
from graphfix.formats.onnx.infer.operators.elementwise import (
    always,
    batch_normalization,
    dequantized,
    elementwise_before_broadcasting,
    every_first,
    first,
    multidirectional,
    normalization,
    quantized,
    rank_of_first,
    unidirectional,
)
from graphfix.formats.onnx.infer.operators.products import gemm, legacy, matmul
from graphfix.formats.onnx.infer.operators.reshaping import unknowns
from graphfix.operators import Row
from graphfix.shapes import shape as shapes
from graphfix.shapes.shape import UNKNOWN, Shape, never_one
from graphfix.shapes.terms import as_size, maybe_negative

SAME_SHAPE = """
Abs Acos Acosh Asin Asinh Atan Atanh Bernoulli BitCast BitwiseNot Cast CastLike Ceil Celu Clip Cos Cosh CumProd CumSum
Elu Erf Exp EyeLike Floor Gelu GroupNormalization HardSigmoid HardSwish Hardmax Identity InstanceNormalization IsInf
IsNaN LRN LeakyRelu Log LogSoftmax LpNormalization MeanVarianceNormalization Mish Neg Not QuantizeLinear
RandomNormalLike RandomUniformLike Reciprocal RegexFullMatch Relu ReverseSequence RotaryEmbedding Round Scatter
ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt SwiGLU Swish Tan Tanh
TensorScatter ThresholdedRelu Trilu
""".split()
REDUCTIONS = """
ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare
""".split()
RANK_KEPT = "CenterCropPad MaxUnpool DFT".split()


def expand(call: Call) -> Results:
    """Two-directional with the shape operand; where that is computed, a size that is never 1 stays."""
    dims, target = call.dims(0), call.content(1)
    shape = call.shape(0)
    if target is not None and shape is not None and not any(map(maybe_negative, target.axes or ())):
        return (shapes.broadcast(shape, target),)
    length = call.length(1)
    if dims is None or length is None:
        return NOTHING
    rank = max(len(dims), length)
    kept = [size if never_one(size) else UNKNOWN for size in dims]
    return (Shape((*[UNKNOWN] * (rank - len(dims)), *kept)),)


def constant_of_shape(call: Call) -> Results:
    """The shape that the operand holds."""
    target = call.content(0)
    length = call.length(0)
    if target is not None and target.axes is not None:
        return (Shape(tuple(map(as_size, target.axes))),)
    return (target,) if target is not None else NOTHING if length is None else (unknowns(length),)


def shape_of(call: Call) -> Results:
    """As many elements as the operand has axes from `start` to `end`."""
    dims = call.dims(0)
    if dims is None:
        return (unknowns(1),)
    start, end = call.number("start", 0), call.number("end", len(dims))
    return (Shape((len(dims[start:end]),)),)


def shape_by_attribute(call: Call) -> Results:
    """The attribute `shape`."""
    wanted = call.list("shape")
    return (Shape(wanted),) if wanted is not None and min(wanted, default=0) >= 0 else NOTHING


def loss(call: Call) -> Results:
    """A number, or with reduction=none one for each of the targets."""
    return (call.shape(1) if call.text("reduction", "mean") == "none" else Shape(()),)


def determinants(call: Call) -> Results:
    """Det: a number for each matrix [..,M,M]."""
    dims = call.dims(0)
    return NOTHING if dims is None or len(dims) < 2 else (Shape(dims[:-2]),)  # noqa: PLR2004 -- rows and columns


def drawn(call: Call) -> Results:
    """Multinomial: [batch,classes] to [batch,sample_size]."""
    dims, count = call.dims(0), call.number("sample_size", 1)
    return (Shape((dims[0], count)),) if dims is not None and len(dims) == 2 and count >= 0 else (unknowns(2),)  # noqa: PLR2004 -- [batch, classes]


def affine_grid(call: Call) -> Results:
    """Points [N,H,W,2] or [N,D,H,W,3] of the size [N,C,(D,)H,W] that operand 1 holds."""
    sizes, length = call.elements(1), call.length(1)
    if sizes is None or len(sizes) not in (4, 5):  # two or three spatial axes
        return (unknowns(length),) if length in (4, 5) else NOTHING
    return (Shape((*map(as_size, (sizes[0], *sizes[2:])), len(sizes) - 2)),)


def split_strings(call: Call) -> Results:
    """Parts along a new last axis, and how many there are of each string."""
    dims = call.dims(0)
    return (None if dims is None else Shape((*dims, UNKNOWN)), call.shape(0))


def counted_words(call: Call) -> Results:
    """TfIdfVectorizer: a weight for each index in place of the last axis."""
    dims, indexes = call.dims(0), call.list("ngram_indexes")
    count = max(indexes) + 1 if indexes and min(indexes) >= 0 else UNKNOWN
    return (Shape((*dims[:-1], count)),) if dims else NOTHING


RULES: dict[tuple[str, str], Rule] = {
    **{("", op): first for op in SAME_SHAPE},
    **{("", op): reductions.reduce for op in REDUCTIONS},
    **{("", op): reductions.reduce_one for op in ("ArgMax", "ArgMin")},
    **{("", op): rank_of_first for op in RANK_KEPT},
    **{("", op): windows.pool for op in ("MaxPool", "AveragePool", "LpPool")},
    **{("", op): windows.global_pool for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")},
    **{("", op): windows.convolution for op in ("Conv", "ConvInteger", "DeformConv")},
    **{("", op): sequences.recurrent for op in ("LSTM", "GRU", "RNN")},
    **{("", op): elementwise_before_broadcasting for op in ("Max", "Min", "Sum", "Mean")},
    **{("", op): shape_by_attribute for op in ("RandomNormal", "RandomUniform")},
    **{("", op): always(1) for op in ("HannWindow", "HammingWindow", "BlackmanWindow")},
    ("", "AffineGrid"): affine_grid,
    ("", "Attention"): attention.attention,
    ("", "BatchNormalization"): batch_normalization,
    ("", "CausalConvWithState"): states.causal_convolution,
    ("", "Col2Im"): windows.image_of_columns,
    ("", "Compress"): parts.compress,
    ("", "Concat"): parts.concat,
    ("", "ConcatFromSequence"): sequence_values.joined,
    ("", "ConstantOfShape"): constant_of_shape,
    ("", "ConvTranspose"): windows.transposed,
    ("", "DepthToSpace"): layout.depth_to_space,
    ("", "DequantizeLinear"): dequantized,
    ("", "Det"): determinants,
    ("", "Dropout"): every_first,
    ("", "DynamicQuantizeLinear"): quantized,
    ("", "Einsum"): sequences.einsum,
    ("", "Expand"): expand,
    ("", "Flatten"): layout.flatten,
    ("", "Gather"): layout.gather,
    ("", "GatherElements"): layout.gather_elements,
    ("", "GatherND"): layout.gather_nd,
    ("", "GridSample"): windows.grid_sample,
    ("", "LayerNormalization"): normalization,
    ("", "LinearAttention"): states.linear_attention,
    ("", "MelWeightMatrix"): always(2),
    ("", "MaxRoiPool"): windows.roi_pool,
    ("", "Multinomial"): drawn,
    ("", "NegativeLogLikelihoodLoss"): loss,
    ("", "NonMaxSuppression"): lambda _: (Shape((UNKNOWN, 3)),),
    ("", "NonZero"): parts.non_zero,
    ("", "OptionalHasElement"): always(0),
    ("", "OneHot"): parts.one_hot,
    ("", "Pad"): parts.pad,
    ("", "QLinearConv"): windows.quantized_convolution,
    ("", "RMSNormalization"): first,
    ("", "Range"): parts.integer_range,
    ("", "Reshape"): layout.reshape,
    ("", "Resize"): windows.resize,
    ("", "RoiAlign"): windows.roi_align,
    ("", "STFT"): always(4),
    ("", "SequenceAt"): sequence_values.taken,
    ("", "SoftmaxCrossEntropyLoss"): lambda call: (*loss(call), call.shape(0)),
    ("", "SequenceLength"): always(0),
    ("", "Shape"): shape_of,
    ("", "Size"): always(0),
    ("", "Slice"): parts.slices,
    ("", "SpaceToDepth"): layout.space_to_depth,
    ("", "Split"): parts.split,
    ("", "StringNormalizer"): rank_of_first,
    ("", "StringSplit"): split_strings,
    ("", "Squeeze"): layout.squeeze,
    ("", "TfIdfVectorizer"): counted_words,
    ("", "Tile"): layout.tile,
    ("", "TopK"): parts.top_k,
    ("", "Transpose"): layout.transpose,
    ("", "Unique"): parts.unique,
    ("", "Unsqueeze"): layout.unsqueeze,
    ("", "Upsample"): windows.upsample,
    ("ai.onnx.preview", "FlexAttention"): attention.flex_attention,
}
BY_STYLE: dict[str, Rule] = {
    "multidirectional": multidirectional,
    "unidirectional": unidirectional,
    "matmul": matmul,
    "gemm": gemm,
    "legacy": legacy,
}


SHAPES_ALONE = frozenset(
    {("", op) for op in SAME_SHAPE} | {(row.domain, row.op) for row in operators.rows() if row.style in BY_STYLE}
)
"""The operators whose results' shapes never follow from the values of an operand: only from shapes."""


def rule(domain: str, op: str, row: Row | None) -> Rule | None:
    """The rule of an operator: that of its name, else that of its row's style."""
    named = RULES.get((domain, op))
    if named is not None:
        return named
    added = contrib.find(domain, op)
    return added.shapes if added is not None else BY_STYLE.get(row.style) if row is not None else None


def moves(domain: str, op: str) -> str:
    """Return the standard operator that treats integer elements as this operator does, empty where there is none."""
    added = contrib.find(domain, op)
    return "" if added is None else added.moves

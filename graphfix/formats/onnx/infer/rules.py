"""Shape rules by operator: dims as terms, as far as they follow from operands and attributes.

Sources: the ONNX operator specification; broadcasting operators follow their row of the catalogue. A rule returns one
shape a result, or None where it does not know it; it never guesses.
"""

from __future__ import annotations

from graphfix import operators
from graphfix.formats.onnx.file.proto import TensorProto
from graphfix.formats.onnx.infer import rules_layout as layout
from graphfix.formats.onnx.infer import rules_parts as parts
from graphfix.formats.onnx.infer import rules_reductions as reductions
from graphfix.formats.onnx.infer import rules_sequences as sequences
from graphfix.formats.onnx.infer import rules_windows as windows
from graphfix.formats.onnx.infer import sequence_values
from graphfix.formats.onnx.infer.operands import NOTHING, Call, Results, Rule
from graphfix.formats.onnx.infer.rules_layout import unknowns
from graphfix.operators import Row
from graphfix.shapes import shape as shapes
from graphfix.shapes.shape import UNKNOWN, Shape, never_one, same
from graphfix.shapes.terms import as_size, maybe_negative

SAME_SHAPE = """
Abs Acos Acosh Asin Asinh Atan Atanh Bernoulli BitwiseNot Cast CastLike Ceil Celu Clip Cos Cosh CumSum Elu Erf Exp
EyeLike Floor Gelu GroupNormalization HardSigmoid HardSwish Hardmax Identity InstanceNormalization IsInf IsNaN LRN
LeakyRelu Log LogSoftmax LpNormalization MeanVarianceNormalization Mish Neg Not QuantizeLinear
RandomNormalLike RandomUniformLike Reciprocal Relu ReverseSequence RotaryEmbedding Round ScatterElements ScatterND
Scatter Selu Shrink Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh TensorScatter ThresholdedRelu
Trilu
""".split()
SAME_SHAPE_MICROSOFT = """
BiasGelu FastGelu Gelu QuickGelu QuantizeLinear DequantizeLinear
""".split()
QUANTIZED = (TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32)
REDUCTIONS = """
ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare
""".split()
RANK_KEPT = "CenterCropPad MaxUnpool Attention DFT".split()


def first(call: Call) -> Results:
    """The result has the shape of operand 0."""
    return (call.shape(0),)


def rank_of_first(call: Call) -> Results:
    """The result has the rank of operand 0, its sizes are computed."""
    dims = call.dims(0)
    return NOTHING if dims is None else (unknowns(len(dims)),)


def every_first(call: Call) -> Results:
    """Every result has the shape of operand 0: the mask of Dropout too."""
    return (call.shape(0),) * max(1, call.results)


def always(*ranks: int) -> Rule:
    """Results of fixed ranks."""
    return lambda _: tuple(unknowns(rank) for rank in ranks)


def multidirectional(call: Call) -> Results:
    """Numpy's rule over the operands that the row names."""
    row = call.row
    if row is None:
        return NOTHING
    taking_part = row.taking_part(len(call.inputs))
    parts = [shape for operand in taking_part if (shape := call.shape(operand.index)) is not None]
    return (shapes.broadcast(*parts),) if parts else NOTHING


def unidirectional(call: Call) -> Results:
    """The result has the shape of the operand that the others are broadcast onto.

    Where one of those may stretch it, its size is open: onnxruntime's PRelu lets it, other operators refuse.
    """
    row = call.row
    target = call.shape(row.onto) if row is not None and row.onto is not None else None
    if row is None or target is None:
        return NOTHING
    others = [shape for operand in row.taking_part(len(call.inputs)) if (shape := call.shape(operand.index))]
    whole = shapes.broadcast(target, *others)
    if whole == target:
        return (target,)
    if target.axes is None or whole.axes is None or len(whole.axes) != len(target.axes):
        return NOTHING
    pairs = zip(target.axes, whole.axes, strict=True)
    return (Shape(tuple([size if same(size, wide) or never_one(size) else UNKNOWN for size, wide in pairs])),)


def normalization(call: Call) -> Results:
    """LayerNormalization: the operand's shape, and with unit axes from `axis` on those of mean and deviation."""
    (whole,) = unidirectional(call) or (None,)
    dims, at = call.dims(0), call.number("axis", -1)
    if dims is None or not -len(dims) <= at < len(dims):
        return (whole,)
    kept = Shape((*dims[: at % len(dims)], *[1] * (len(dims) - at % len(dims))))
    return (whole, kept, kept)


def batch_normalization(call: Call) -> Results:
    """The operand's shape; mean and variance have the shape of those that go in."""
    return (call.shape(0), *(call.shape(3), call.shape(4)) * 2)


def legacy(call: Call) -> Results:
    """Before opset 7 the second operand is broadcast onto the first; Gemm's third onto the product."""
    return gemm(call) if call.op == "Gemm" else first(call)


def matmul(call: Call) -> Results:
    """numpy.matmul: batch axes broadcast, [.., M, K] x [.., K, N]; a rank-1 operand is promoted, its axis removed."""
    if call.row is None or len(call.row.operands) < 2:  # noqa: PLR2004 -- a product has two operands
        return NOTHING
    left, right = (call.dims(operand.index) for operand in call.row.operands[:2])
    if not left or not right or call.attributes:  # FusedMatMul's transA/transBatchA: onnxruntime's own inference
        return NOTHING
    batch = shapes.broadcast(Shape(left[:-2]), Shape(right[:-2])).dims
    rows = left[-2:-1] if len(left) > 1 else ()
    columns = right[-1:] if len(right) > 1 else ()
    return (Shape((*batch, *rows, *columns)),)


def gemm(call: Call) -> Results:
    """(M, N), by transA and transB."""
    at = call.row.product if call.row is not None and call.row.product is not None else (0, 1)
    left, right = (call.dims(index) for index in at)
    if left is None or right is None or len(left) != 2 or len(right) != 2:  # noqa: PLR2004 -- matrices
        return NOTHING
    first_turned, second_turned = call.flag("transA", 0), call.flag("transB", 0)
    if first_turned is None or second_turned is None:
        return (unknowns(2),)
    return (Shape((left[first_turned], right[not second_turned])),)


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


def dequantized(call: Call) -> Results:
    """The operand's shape; onnxruntime makes a vector of a single element of some types."""
    return (call.shape(0),) if call.dims(0) != () or call.dtype(0) in QUANTIZED else NOTHING


def quantized(call: Call) -> Results:
    """The operand's shape, a scale and a zero point."""
    return (call.shape(0), Shape(()), Shape(()))


def loss(call: Call) -> Results:
    """A number, or with reduction=none one for each of the targets."""
    return (call.shape(1) if call.text("reduction", "mean") == "none" else Shape(()),)


def drawn(call: Call) -> Results:
    """Multinomial: [batch,classes] to [batch,sample_size]."""
    dims, count = call.dims(0), call.number("sample_size", 1)
    return (Shape((dims[0], count)),) if dims is not None and len(dims) == 2 and count >= 0 else (unknowns(2),)  # noqa: PLR2004 -- [batch, classes]


def grid_sample(call: Call) -> Results:
    """[N,C,..] at the points of a grid [N,..,axes]."""
    image, grid = call.dims(0), call.dims(1)
    if image is None or grid is None or len(image) != len(grid):
        known = image or grid
        return NOTHING if known is None else (unknowns(len(known)),)
    return (Shape((*image[:2], *grid[1:-1])),)


def elementwise_before_broadcasting(call: Call) -> Results:
    """Max, Min, Sum and Mean before opset 8 have operands of one shape."""
    return multidirectional(call) if call.row is not None else (call.shape(0),)


RULES: dict[tuple[str, str], Rule] = {
    **{("", op): first for op in SAME_SHAPE},
    **{("com.microsoft", op): first for op in SAME_SHAPE_MICROSOFT},
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
    ("", "BatchNormalization"): batch_normalization,
    ("", "Compress"): parts.compress,
    ("", "Concat"): parts.concat,
    ("", "ConcatFromSequence"): sequence_values.joined,
    ("", "ConstantOfShape"): constant_of_shape,
    ("", "ConvTranspose"): windows.transposed,
    ("", "DepthToSpace"): layout.depth_to_space,
    ("", "DequantizeLinear"): dequantized,
    ("", "Dropout"): every_first,
    ("", "DynamicQuantizeLinear"): quantized,
    ("", "Einsum"): sequences.einsum,
    ("", "Expand"): expand,
    ("", "Flatten"): layout.flatten,
    ("", "Gather"): layout.gather,
    ("", "GatherElements"): layout.gather_elements,
    ("", "GatherND"): layout.gather_nd,
    ("", "GridSample"): grid_sample,
    ("", "LayerNormalization"): normalization,
    ("", "MelWeightMatrix"): always(2),
    ("", "MaxRoiPool"): windows.roi_pool,
    ("", "Multinomial"): drawn,
    ("", "NegativeLogLikelihoodLoss"): loss,
    ("", "NonMaxSuppression"): lambda _: (Shape((UNKNOWN, 3)),),
    ("", "NonZero"): parts.non_zero,
    ("", "OneHot"): parts.one_hot,
    ("", "Pad"): parts.pad,
    ("", "QLinearConv"): windows.quantized_convolution,
    ("", "Range"): parts.integer_range,
    ("", "Reshape"): layout.reshape,
    ("", "Resize"): windows.resize,
    ("", "RoiAlign"): windows.roi_align,
    ("", "STFT"): always(4),
    ("", "SequenceAt"): sequence_values.taken,
    ("", "Shape"): shape_of,
    ("", "Size"): always(0),
    ("", "Slice"): parts.slices,
    ("", "SpaceToDepth"): layout.space_to_depth,
    ("", "Split"): parts.split,
    ("", "Squeeze"): layout.squeeze,
    ("", "Tile"): layout.tile,
    ("", "TopK"): parts.top_k,
    ("", "Transpose"): layout.transpose,
    ("", "Unique"): parts.unique,
    ("", "Unsqueeze"): layout.unsqueeze,
    ("", "Upsample"): windows.upsample,
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
    return named if named is not None or row is None else BY_STYLE.get(row.style)

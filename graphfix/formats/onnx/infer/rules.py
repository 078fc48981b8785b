"""Shape rules by operator: dims as terms, and ranks where onnx's inference reports nothing.

Sources: the ONNX operator specification; broadcasting operators follow their row of the catalogue. A rule returns one
shape a result, or None where it does not know it; it never guesses.
"""

from __future__ import annotations

from graphfix import operators
from graphfix.formats.onnx.infer import rules_layout as layout
from graphfix.formats.onnx.infer.operands import NOTHING, Call, Results, Rule
from graphfix.formats.onnx.infer.rules_layout import unknowns
from graphfix.operators import Row
from graphfix.shapes import shape as shapes
from graphfix.shapes.shape import UNKNOWN, Shape, never_one

SAME_SHAPE = """
Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Cast CastLike Ceil Celu Clip Cos Cosh CumSum Dropout Elu Erf Exp Floor
Gelu HardSigmoid HardSwish Hardmax Identity InstanceNormalization IsInf IsNaN LRN LayerNormalization LeakyRelu Log
LogSoftmax LpNormalization MeanVarianceNormalization Mish Neg Not QuantizeLinear DequantizeLinear RMSNormalization
RandomNormalLike RandomUniformLike Reciprocal Relu Round ScatterElements ScatterND Scatter Selu Shrink Sigmoid Sign Sin
Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Trilu BatchNormalization GroupNormalization
ReverseSequence EyeLike Bernoulli
""".split()
SAME_SHAPE_MICROSOFT = """
BiasGelu FastGelu Gelu QuickGelu QuantizeLinear DequantizeLinear SkipLayerNormalization SkipSimplifiedLayerNormalization
""".split()
REDUCTIONS = """
ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare
ArgMax ArgMin
""".split()
RANK_KEPT = """
Pad Resize Upsample MaxPool AveragePool LpPool GlobalAveragePool GlobalMaxPool GlobalLpPool
GatherElements DepthToSpace SpaceToDepth
""".split()


def first(call: Call) -> Results:
    """The result has the shape of operand 0."""
    return (call.shape(0),)


def rank_of_first(call: Call) -> Results:
    """The result has the rank of operand 0, its sizes are computed."""
    dims = call.dims(0)
    return NOTHING if dims is None else (unknowns(len(dims)),)


def every_rank_of_first(call: Call) -> Results:
    """Every result has the rank of operand 0."""
    dims = call.dims(0)
    return NOTHING if dims is None else (unknowns(len(dims)),) * 64


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
    """The result has the shape of the operand that the others are broadcast onto."""
    row = call.row
    return (call.shape(row.onto),) if row is not None and row.onto is not None else NOTHING


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
    left, right = call.dims(0), call.dims(1)
    if left is None or right is None or len(left) != 2 or len(right) != 2:  # noqa: PLR2004 -- matrices
        return NOTHING
    m = left[1 if call.number("transA", 0) else 0]
    n = right[0 if call.number("transB", 0) else 1]
    return (Shape((m, n)),)


def expand(call: Call) -> Results:
    """Two-directional with the shape operand; where that is computed, a size that is never 1 stays."""
    dims, target = call.dims(0), call.content(1)
    shape = call.shape(0)
    if target is not None and shape is not None:
        return (shapes.broadcast(shape, target),)
    length = call.length(1)
    if dims is None or length is None:
        return NOTHING
    rank = max(len(dims), length)
    kept = [size if never_one(size) else UNKNOWN for size in dims]
    return (Shape((*[UNKNOWN] * (rank - len(dims)), *kept)),)


def reduce(call: Call) -> Results:
    """With keepdims=1 the rank stays, also where the axes are computed."""
    dims = call.dims(0)
    return (unknowns(len(dims)),) if dims is not None and call.number("keepdims", 1) else NOTHING


def constant_of_shape(call: Call) -> Results:
    """The shape that the operand holds."""
    target = call.content(0)
    length = call.length(0)
    return (target,) if target is not None else NOTHING if length is None else (unknowns(length),)


def shape_of(call: Call) -> Results:
    """As many elements as the operand has axes from `start` to `end`."""
    dims = call.dims(0)
    if dims is None:
        return (unknowns(1),)
    start, end = call.number("start", 0), call.number("end", len(dims))
    return (Shape((len(dims[start:end]),)),)


def convolution(call: Call) -> Results:
    """Data, weight and result have one rank."""
    dims = call.dims(0) or call.dims(1)
    return NOTHING if dims is None else (unknowns(len(dims)),)


RULES: dict[tuple[str, str], Rule] = {
    **{("", op): first for op in SAME_SHAPE},
    **{("com.microsoft", op): first for op in SAME_SHAPE_MICROSOFT},
    **{("", op): reduce for op in REDUCTIONS},
    **{("", op): rank_of_first for op in RANK_KEPT},
    **{("", op): every_rank_of_first for op in ("Split", "TopK")},
    **{("", op): convolution for op in ("Conv", "ConvTranspose", "ConvInteger")},
    ("", "Expand"): expand,
    ("", "Slice"): layout.slices,
    ("", "Shape"): shape_of,
    ("", "Size"): always(0),
    ("", "Tile"): layout.tile,
    ("", "Unsqueeze"): layout.unsqueeze,
    ("", "Squeeze"): layout.squeeze,
    ("", "Transpose"): layout.transpose,
    ("", "Reshape"): layout.reshape,
    ("", "Range"): always(1),
    ("", "NonZero"): always(2),
    ("", "Flatten"): always(2),
    ("", "LSTM"): always(4, 3, 3),
    ("", "GRU"): always(4, 3),
    ("", "RNN"): always(4, 3),
    ("", "Gather"): layout.gather,
    ("", "ConstantOfShape"): constant_of_shape,
    ("", "Concat"): layout.concat,
}
BY_STYLE: dict[str, Rule] = {
    "multidirectional": multidirectional,
    "unidirectional": unidirectional,
    "matmul": matmul,
    "gemm": gemm,
}


SHAPES_ALONE = frozenset(
    {("", op) for op in SAME_SHAPE}
    | {("", "Constant")}
    | {(row.domain, row.op) for row in operators.rows() if row.style in BY_STYLE}
)
"""The operators whose results' shapes never follow from the values of an operand: only from shapes."""


def rule(domain: str, op: str, row: Row | None) -> Rule | None:
    """The rule of an operator: that of its name, else that of its row's style."""
    named = RULES.get((domain, op))
    return named if named is not None or row is None else BY_STYLE.get(row.style)

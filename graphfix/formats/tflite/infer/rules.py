"""The shape rules by operator: what follows from the operands, and which operands' elements a shape may follow from.

Sources: TFLite's schema and the Prepare functions of LiteRT's kernels; broadcasting operators follow their row of the
catalogue. A rule never guesses: what does not follow is UNKNOWN, and an operator without a rule has the declared shape.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.formats.tflite.file.schema import FLOAT32
from graphfix.formats.tflite.infer import rules_layout as layout
from graphfix.formats.tflite.infer import rules_windows as windows
from graphfix.formats.tflite.infer.delegate_choice import follow_bytes, rank_depends_on_kernels
from graphfix.formats.tflite.infer.operands import Call, Results, Rule
from graphfix.formats.tflite.infer.strided_slice import strided_slice
from graphfix.operators import Row
from graphfix.shapes import shape as shapes
from graphfix.shapes.shape import UNKNOWN, UNRANKED, Shape
from graphfix.shapes.terms import as_size

SAME_SHAPE = (
    "ABS CEIL COS ELU EXP FLOOR GELU HARD_SWISH LEAKY_RELU LOG LOGISTIC NEG RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 ROUND"
    " RSQRT SIGN SIN SQRT SQUARE TANH LOGICAL_NOT CAST QUANTIZE DEQUANTIZE FAKE_QUANT DENSIFY ZEROS_LIKE SOFTMAX"
    " LOG_SOFTMAX L2_NORMALIZATION LOCAL_RESPONSE_NORMALIZATION CUMSUM REVERSE_V2 REVERSE_SEQUENCE COMPLEX_ABS REAL"
    " IMAG BUCKETIZE MATRIX_SET_DIAG DYNAMIC_UPDATE_SLICE STABLEHLO_LOGISTIC STABLEHLO_ABS"
    " STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_NEGATE STABLEHLO_RSQRT"
    " STABLEHLO_TANH STABLEHLO_CONVERT STABLEHLO_CBRT STABLEHLO_DYNAMIC_UPDATE_SLICE"
).split()
"""The result has the shape of operand 0."""
EXACT_IN_FLOAT32 = "no size that a RANGE counts to in float32 is above 2 ** 24, where not every whole number is one"
UNSORTED = tuple(f"UNSORTED_SEGMENT_{how}" for how in ("PROD", "SUM", "MAX", "MIN"))
REDUCTIONS = "MEAN SUM REDUCE_PROD REDUCE_MAX REDUCE_MIN REDUCE_ANY REDUCE_ALL".split()


def first(call: Call) -> Results:
    """The result has the shape of operand 0."""
    follow_bytes(call)
    return (call.shape(0),)


def multidirectional(call: Call) -> Results:
    """Numpy's rule over the operands that the row names."""
    row = call.row
    if row is None:
        return ()
    parts = [shape for operand in row.taking_part(call.count) if (shape := call.shape(operand.index)) is not None]
    if not parts:
        return ()
    whole = shapes.broadcast(*parts)
    follow_bytes(call)
    return (UNRANKED if rank_depends_on_kernels(call, whole) else whole,)


def unidirectional(call: Call) -> Results:
    """The result has the shape of the operand that the others are broadcast onto."""
    row = call.row
    return (call.shape(row.onto),) if row is not None and row.onto is not None else ()


def matmul(call: Call) -> Results:
    """Batch axes broadcast; [M,K] x [K,N], adj_x and adj_y swap the last two axes of an operand."""
    left, right = call.dims(0), call.dims(1)
    if left is None or right is None or min(len(left), len(right)) < 2:  # noqa: PLR2004 -- matrices
        return ()
    batch = shapes.broadcast(Shape(left[:-2]), Shape(right[:-2])).dims
    rows = left[-1] if call.option("adj_x") else left[-2]
    columns = right[-2] if call.option("adj_y") else right[-1]
    return (Shape((*batch, rows, columns)),)


def equal(call: Call) -> Results:
    """The operands have one shape: a size is a number where one of them has it.

    Nothing is derived where two operands surely have different shapes: kernels then read beyond an operand's end.
    """
    every = [dims for at in range(call.count) if (dims := call.dims(at)) is not None]
    if not every:
        return first(call)
    if len(set(map(len, every))) > 1:
        return ()
    columns = [*zip(*every, strict=True)]
    if any(len({size for size in column if isinstance(size, int)}) > 1 for column in columns):
        return ()
    return (Shape(tuple([next((size for size in column if isinstance(size, int)), column[0]) for column in columns])),)


def select(call: Call) -> Results:
    """By the row's style; but where every operand has one element, a result of one element keeps its declared shape.

    It is so for SELECT and for SELECT_V2.
    """
    if call.row is None:
        return ()
    result = next(iter(BY_STYLE[call.row.style](call)), None)
    operands = [shape for index in range(call.count) if (shape := call.shape(index)) is not None]
    stored = call.result()
    if result is None or stored is None or not all(map(_may_be_one, operands)):
        return (result,)
    if result.ranked and len(stored.shape) == result.rank:
        return (result,)
    if all(shapes.num_elements(shape) == 1 for shape in operands) and all(size == 1 for size in stored.shape):
        return (Shape(stored.shape),)
    return (result if any(size != 1 for size in stored.shape) else UNRANKED,)


def _may_be_one(shape: Shape) -> bool:
    """Whether it may have one element: no size is certainly another than 1."""
    return all(size == 1 if isinstance(size, int) else not shapes.never_one(size) for size in shape.axes or ())


def fully_connected(call: Call) -> Results:
    """[..,K] by weights [O,K]: the leading axes stay with keep_num_dims, else they become one."""
    dims, weights = call.dims(0), call.dims(1)
    if dims is None or weights is None or len(weights) != 2:  # noqa: PLR2004 -- a matrix
        return ()
    units, depth = weights
    if call.option("keep_num_dims"):
        return (Shape((*dims[:-1], units)),)
    batch = layout.remaining(call, dims, [depth]) if depth != 0 else UNKNOWN
    return (Shape((batch, units)),)


def reduce(call: Call) -> Results:
    """The axes that operand 1 names go, or become 1 with keep_dims."""
    dims, axes = call.dims(0), call.ints(1)
    if dims is None:
        return ()
    keeps = bool(call.option("keep_dims"))
    if axes is None or not all(-len(dims) <= axis < len(dims) for axis in axes):
        return (layout.unknowns(len(dims)) if keeps else UNRANKED,)
    gone = {axis % len(dims) for axis in axes}
    kept = [1 if at in gone else size for at, size in enumerate(dims) if keeps or at not in gone]
    return (Shape(tuple(kept)),)


def arg_reduce(call: Call) -> Results:
    """ARG_MAX and ARG_MIN: the axis that operand 1 names goes."""
    dims, axis = call.dims(0), call.scalar(1)
    if not dims:
        return ()
    if axis is None or not -len(dims) <= axis < len(dims):
        return (layout.unknowns(len(dims) - 1),)
    at = axis % len(dims)
    return (Shape((*dims[:at], *dims[at + 1 :])),)


def shape_of(call: Call) -> Results:
    """As many elements as the operand has axes."""
    dims = call.dims(0)
    return (layout.unknowns(1) if dims is None else Shape((len(dims),)),)


def scalar(_: Call) -> Results:
    """A scalar."""
    return (Shape(()),)


def broadcast_args(call: Call) -> Results:
    """As many elements as the longer of two shapes has."""
    lengths = [call.length(index) for index in (0, 1)]
    known = [length for length in lengths if length is not None]
    return (Shape((max(known),)) if len(known) == len(lengths) else layout.unknowns(1),)


def range_of(call: Call) -> Results:
    """RANGE: the numbers from operand 0 to operand 1 by steps of operand 2."""
    start, limit, step = (call.element(index) for index in range(3))
    if isinstance(start, int) and isinstance(limit, int) and isinstance(step, int) and step:
        return (Shape((as_size(max(0, -(-(limit - start) // step))),)),)
    if start is None or limit is None or not isinstance(step, int) or not step:
        return (layout.unknowns(1),)
    result = call.result()
    if result is not None and result.type == FLOAT32:
        call.scope.assumes[EXACT_IN_FLOAT32] = None
    way = call.terms.sub(limit, start) if step > 0 else call.terms.sub(start, limit)
    return (Shape((as_size(call.terms.ceildiv(way, abs(step))),)),)  # LiteRT refuses a limit on the other side


def segments(call: Call) -> Results:
    """UNSORTED_SEGMENT_PROD and its like: as many rows as operand 2 holds, of the axes behind those of operand 1."""
    dims, ids, count = call.dims(0), call.dims(1), call.element(2)
    if dims is None or ids is None or len(ids) > len(dims):
        return ()
    return (Shape((UNKNOWN if count is None else as_size(count), *dims[len(ids) :])),)


def sorted_segments(call: Call) -> Results:
    """SEGMENT_SUM: as many rows as operand 1 names."""
    dims, ids = call.dims(0), call.ints(1)
    if not dims:
        return ()
    count = max(ids[-1], -1) + 1 if ids else UNKNOWN
    return (Shape((count, *dims[1:])),)


def top_k(call: Call) -> Results:
    """TOPK_V2: the last size becomes what operand 1 holds, for values and indices."""
    dims, count = call.dims(0), call.element(1)
    if not dims:
        return ()
    last = UNKNOWN if count is None else as_size(count)
    return (Shape((*dims[:-1], last)),) * 2


def where(call: Call) -> Results:
    """WHERE: one row of indices for each element that is true, as many as the data has."""
    dims = call.dims(0)
    return () if dims is None else (Shape((UNKNOWN, len(dims))),)


def unique(call: Call) -> Results:
    """UNIQUE: as many as there are, and where each element went."""
    return (layout.unknowns(1), call.shape(0))


def diagonal(call: Call) -> Results:
    """MATRIX_DIAG: the last axis twice."""
    dims = call.dims(0)
    return () if not dims else (Shape((*dims, dims[-1])),)


RULES: Mapping[str, Rule] = {
    **dict.fromkeys(SAME_SHAPE, first),
    **dict.fromkeys(REDUCTIONS, reduce),
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), arg_reduce),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"), windows.pool),
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), windows.resize),
    **dict.fromkeys(("PAD", "PADV2", "MIRROR_PAD"), windows.pad),
    **dict.fromkeys(("SELECT", "SELECT_V2"), select),
    "CONV_2D": windows.convolution,
    "DEPTHWISE_CONV_2D": windows.depthwise,
    "CONV_3D": windows.volume,
    "TRANSPOSE_CONV": windows.shape_held_by(0),
    "CONV_3D_TRANSPOSE": windows.shape_held_by(0),
    "SPACE_TO_DEPTH": windows.space_to_depth,
    "DEPTH_TO_SPACE": windows.depth_to_space,
    "SPACE_TO_BATCH_ND": windows.space_to_batch,
    "BATCH_TO_SPACE_ND": windows.batch_to_space,
    "RFFT2D": windows.spectrum,
    "BROADCAST_TO": windows.shape_held_by(1),
    "SPARSE_TO_DENSE": windows.shape_held_by(1),
    "SCATTER_ND": windows.shape_held_by(2),
    "FILL": windows.shape_held_by(0),
    "RANDOM_UNIFORM": windows.shape_held_by(0),
    "RANDOM_STANDARD_NORMAL": windows.shape_held_by(0),
    "FULLY_CONNECTED": fully_connected,
    "RESHAPE": layout.reshape,
    "EXPAND_DIMS": layout.expand_dims,
    "SQUEEZE": layout.squeeze,
    "TRANSPOSE": layout.transpose,
    "CONCATENATION": layout.concatenate,
    "PACK": layout.pack,
    "UNPACK": layout.unpack,
    "SPLIT": layout.split,
    "SPLIT_V": layout.split_v,
    "GATHER": layout.gather,
    "GATHER_ND": layout.gather_nd,
    "EMBEDDING_LOOKUP": layout.lookup,
    "ONE_HOT": layout.one_hot,
    "TILE": layout.tile,
    "SLICE": layout.slices,
    "STRIDED_SLICE": strided_slice,
    "SHAPE": shape_of,
    "RANK": scalar,
    "BROADCAST_ARGS": broadcast_args,
    "RANGE": range_of,
    "TOPK_V2": top_k,
    "WHERE": where,
    "UNIQUE": unique,
    **dict.fromkeys(UNSORTED, segments),
    "SEGMENT_SUM": sorted_segments,
    "MATRIX_DIAG": diagonal,
}
BY_STYLE: Mapping[str, Rule] = {
    "multidirectional": multidirectional,
    "unidirectional": unidirectional,
    "matmul": matmul,
    "equal": equal,
    "own": unidirectional,
}

SHAPE_OPERANDS: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(
        (*REDUCTIONS, "ARG_MAX", "ARG_MIN", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "PAD", "PADV2"), (1,)
    ),
    **dict.fromkeys(("MIRROR_PAD", "RFFT2D", "BROADCAST_TO", "SPARSE_TO_DENSE", "RESHAPE", "EXPAND_DIMS"), (1,)),
    **dict.fromkeys(("TRANSPOSE", "ONE_HOT", "TILE", "TOPK_V2"), (1,)),
    **dict.fromkeys(("TRANSPOSE_CONV", "CONV_3D_TRANSPOSE", "FILL", "RANDOM_UNIFORM"), (0,)),
    **dict.fromkeys(("RANDOM_STANDARD_NORMAL", "SPLIT"), (0,)),
    **dict.fromkeys(("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND", "SLICE", "SPLIT_V"), (1, 2)),
    **dict.fromkeys(("SCATTER_ND", *UNSORTED), (2,)),
    "SEGMENT_SUM": (1,),
    "STRIDED_SLICE": (1, 2, 3),
    "RANGE": (0, 1, 2),
}
"""The operands from whose elements the result's shape follows; of all other operators it follows from shapes alone."""
BY_DATA = frozenset({"WHERE", "UNIQUE"})
"""Operators with a rule whose result's shape follows from the elements of what they compute with."""


def rule(op: str, row: Row | None) -> Rule | None:
    """The rule of an operator: that of its name, else that of its row's style."""
    named = RULES.get(op)
    return named if named is not None or row is None else BY_STYLE.get(row.style)

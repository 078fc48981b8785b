"""Rules of element-wise operators and normalizations: a result has an operand's shape, or the broadcast one.

Sources: the ONNX operator specification; broadcasting operators follow their row of the catalogue.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results, Rule
from graphfix.formats.onnx.infer.operators.integers import (
    Bounds,
    BoundsRule,
    Elements,
    Given,
    IntegerRule,
    bounds_of_first,
    same_elements,
    union,
)
from graphfix.formats.onnx.infer.sizes import unknowns
from graphfix.graph.view import Node
from graphfix.results.onnx_messages import TensorProto
from graphfix.shapes import shape as shapes
from graphfix.shapes.dim import UNKNOWN, Shape, Size, never_one, same
from graphfix.shapes.terms import bounds

SAME_SHAPE = """
Acos Acosh Asin Asinh Atan Atanh BitCast BitwiseNot Cast CastLike Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu
GroupNormalization HardSigmoid HardSwish Hardmax Identity InstanceNormalization IsInf IsNaN LRN LeakyRelu Log LogSoftmax
LpNormalization MeanVarianceNormalization Mish QuantizeLinear RMSNormalization Reciprocal RegexFullMatch Relu
RotaryEmbedding Round Selu Shrink Sigmoid Sin Sinh Softmax Softplus Softsign Sqrt SwiGLU Swish Tan Tanh ThresholdedRelu
Trilu
""".split()
QUANTIZED = frozenset(
    (
        *(TensorProto.INT4, TensorProto.UINT4, TensorProto.INT8, TensorProto.UINT8),
        *(TensorProto.INT16, TensorProto.UINT16, TensorProto.INT32),
    )
)
"""The element types whose scalars onnxruntime dequantizes to scalars."""

# --- shapes of operands -----------------------------------------------------------------------------------------------


def first(call: Call) -> Results:
    """Return the shape of operand 0 as that of the result."""
    return (call.shape(0),)


def rank_of_first(call: Call) -> Results:
    """Return a shape with the rank of operand 0 and unknown sizes."""
    dims = call.dims(0)
    return NOTHING if dims is None else (unknowns(len(dims)),)


def every_first(call: Call) -> Results:
    """Return the shape of operand 0 for every result, such as the mask of Dropout."""
    return (call.shape(0),) * max(1, call.results)


def shapes_of(*operands: int) -> Rule:
    """Return the rule of results that have the shapes of these operands, in this order."""
    return lambda call: tuple([call.shape(operand) for operand in operands])


def always(*ranks: int) -> Rule:
    """Return the rule of results that have these ranks."""
    return lambda _: tuple(unknowns(rank) for rank in ranks)


# --- broadcasting -----------------------------------------------------------------------------------------------------


def multidirectional(call: Call) -> Results:
    """Broadcast the operands that the row of the catalogue names, as numpy does."""
    row = call.row
    if row is None:
        return NOTHING
    taking_part = row.taking_part(len(call.inputs))
    parts = [shape for operand in taking_part if (shape := call.shape(operand.index)) is not None]
    return (shapes.broadcast(*parts),) if parts else NOTHING


def unidirectional(call: Call) -> Results:
    """Return the shape of the operand (`row.onto`) onto which the others are broadcast.

    A size of this operand that another operand may stretch is unknown: onnxruntime's PRelu stretches it, and other
    operators refuse it.
    """
    row = call.row
    target = call.shape(row.onto) if row is not None and row.onto is not None else None
    if row is None or target is None:
        return NOTHING
    others = [shape for operand in row.taking_part(len(call.inputs)) if (shape := call.shape(operand.index))]
    result = shapes.broadcast(target, *others)
    if result == target:
        return (target,)
    if target.axes is None or result.axes is None or len(result.axes) != len(target.axes):
        return NOTHING
    pairs = zip(target.axes, result.axes, strict=True)
    return (Shape(tuple([size if same(size, wide) or never_one(size) else UNKNOWN for size, wide in pairs])),)


def elementwise_before_broadcasting(call: Call) -> Results:
    """Max, Min, Sum and Mean before opset 8 have operands of one shape."""
    return multidirectional(call) if call.row is not None else (call.shape(0),)


# --- quantization and normalizations ----------------------------------------------------------------------------------


def quantized(call: Call) -> Results:
    """DynamicQuantizeLinear: the operand's shape, a scale and a zero point."""
    return (call.shape(0), Shape(()), Shape(()))


def dequantized(call: Call) -> Results:
    """Return the operand's shape, unless it is a scalar that is not of `QUANTIZED`: onnxruntime makes it a vector."""
    return (call.shape(0),) if call.dims(0) != () or call.dtype(0) in QUANTIZED else NOTHING


def normalization(call: Call) -> Results:
    """LayerNormalization: the operand's shape; mean and deviation have unit axes from `axis` on.

    Scale and bias are broadcast onto the operand; onnxruntime refuses a scale or bias that would stretch it.
    """
    dims, at = call.dims(0), call.number("axis", -1)
    if dims is None or not -len(dims) <= at < len(dims):
        return (call.shape(0),)
    kept = Shape((*dims[: at % len(dims)], *[1] * (len(dims) - at % len(dims))))
    return (call.shape(0), kept, kept)


# --- casts ------------------------------------------------------------------------------------------------------------


def _cast_elements(call: Call, result: str) -> Elements | None:
    elements = call.elements(0)
    if elements is None or call.scope.types[result].dtype != TensorProto.BOOL:
        return elements
    return [UNKNOWN if _truth(element) is None else int(bool(_truth(element))) for element in elements]


def _truth(element: Size) -> bool | None:
    """Return whether an element is not 0; None if that is not known."""
    low, high = bounds(element)
    return True if low > 0 or high < 0 else False if low == high == 0 else None


# --- strings ----------------------------------------------------------------------------------------------------------


def split_strings(call: Call) -> Results:
    """StringSplit: the parts of each string along a new last axis, and the number of parts of each string."""
    dims = call.dims(0)
    return (None if dims is None else Shape((*dims, UNKNOWN)), call.shape(0))


def counted_words(call: Call) -> Results:
    """TfIdfVectorizer: a weight for each index in place of the last axis."""
    dims, indexes = call.dims(0), call.list("ngram_indexes")
    count = max(indexes) + 1 if indexes and min(indexes) >= 0 else UNKNOWN
    return (Shape((*dims[:-1], count)),) if dims else NOTHING


def _bounds_with_zero(_: Node, given: Given, __: int) -> Bounds | None:
    """Trilu: the elements of the operand, and 0."""
    return union([given[0], (0, 0)])


SHAPES: Mapping[str, Rule] = {
    **dict.fromkeys(SAME_SHAPE, first),
    **dict.fromkeys(("CenterCropPad", "DFT", "StringNormalizer"), rank_of_first),
    "BatchNormalization": shapes_of(0, 3, 4, 3, 4),
    "DequantizeLinear": dequantized,
    "Dropout": every_first,
    "DynamicQuantizeLinear": quantized,
    "LayerNormalization": normalization,
    "STFT": always(4),
    "StringSplit": split_strings,
    "TfIdfVectorizer": counted_words,
}
BY_STYLE: Mapping[str, Rule] = {"multidirectional": multidirectional, "unidirectional": unidirectional}
"""By the style of the catalogue's row: the rules of the operators that are in no table by name."""
INTEGERS: Mapping[str, IntegerRule] = {
    **dict.fromkeys(("Cast", "CastLike"), _cast_elements),
    "Identity": same_elements,
}
BOUNDS: Mapping[str, BoundsRule] = {"Cast": bounds_of_first, "Identity": bounds_of_first, "Trilu": _bounds_with_zero}

"""Shape rules of element-wise operators and normalizations: a result has an operand's shape, or the broadcast one.

Sources: the ONNX operator specification; broadcasting operators follow their row of the catalogue.
"""

from __future__ import annotations

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results, Rule
from graphfix.formats.onnx.infer.operators.reshaping import unknowns
from graphfix.results.onnx_messages import TensorProto
from graphfix.shapes import shape as shapes
from graphfix.shapes.shape import UNKNOWN, Shape, never_one, same

QUANTIZED = frozenset(
    (
        *(TensorProto.INT4, TensorProto.UINT4, TensorProto.INT8, TensorProto.UINT8),
        *(TensorProto.INT16, TensorProto.UINT16, TensorProto.INT32),
    )
)
"""The element types whose scalars onnxruntime dequantizes to scalars."""


def first(call: Call) -> Results:
    """The result has the shape of operand 0."""
    return (call.shape(0),)


def rank_of_first(call: Call) -> Results:
    """The result has the rank of operand 0; its sizes are unknown."""
    dims = call.dims(0)
    return NOTHING if dims is None else (unknowns(len(dims)),)


def every_first(call: Call) -> Results:
    """Every result has the shape of operand 0, such as the mask of Dropout."""
    return (call.shape(0),) * max(1, call.results)


def always(*ranks: int) -> Rule:
    """Return the rule of results that have these ranks."""
    return lambda _: tuple(unknowns(rank) for rank in ranks)


def multidirectional(call: Call) -> Results:
    """Broadcast the operands that the row of the catalogue names, as numpy does."""
    row = call.row
    if row is None:
        return NOTHING
    taking_part = row.taking_part(len(call.inputs))
    parts = [shape for operand in taking_part if (shape := call.shape(operand.index)) is not None]
    return (shapes.broadcast(*parts),) if parts else NOTHING


def unidirectional(call: Call) -> Results:
    """The result has the shape of the operand (`row.onto`) onto which the others are broadcast.

    A size of this operand that another operand may stretch is unknown: onnxruntime's PRelu stretches it, other
    operators refuse.
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


def elementwise_before_broadcasting(call: Call) -> Results:
    """Max, Min, Sum and Mean before opset 8 have operands of one shape."""
    return multidirectional(call) if call.row is not None else (call.shape(0),)


def quantized(call: Call) -> Results:
    """DynamicQuantizeLinear: the operand's shape, a scale and a zero point."""
    return (call.shape(0), Shape(()), Shape(()))


def dequantized(call: Call) -> Results:
    """The operand's shape; onnxruntime makes a scalar of any other type than `QUANTIZED` a vector."""
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


def batch_normalization(call: Call) -> Results:
    """The operand's shape; the results mean and variance have the shapes of operands 3 and 4."""
    return (call.shape(0), *(call.shape(3), call.shape(4)) * 2)

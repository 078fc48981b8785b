"""Operators whose results have the shape of an operand, or the broadcast one: activations, sums, gates.

Sources: onnxruntime's docs/ContribOperators.md and its CPU kernels; the experimental operators of ONNX's own domain are
those that onnxruntime still registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results
from graphfix.formats.onnx.infer.contrib.operator import BOOL, MICROSOFT, SAME, UINT32, Attributes, Operator, like
from graphfix.formats.onnx.infer.operators.elementwise import dequantized, first, multidirectional, shapes_of
from graphfix.formats.onnx.infer.sizes import quotient, ranked, with_size
from graphfix.results.onnx_messages import TensorProto
from graphfix.shapes.dim import Shape

EXPERIMENTAL = """
Affine GRUUnit ImageScaler MemcpyFromHost MemcpyToHost ParametricSoftplus Scale ScaledTanh
""".split()
"""Operators of the standard domain whose result has the shape and type of operand 0.

GRUUnit returns the next state; operand 0 is the state.
"""
ACTIVATIONS = """
BiasAdd BiasGelu BiasSoftmax FastGelu GatedAdd Gelu Inverse QLinearLeakyRelu QLinearSigmoid
QLinearSoftmax QOrderedGelu QuickGelu ScaledSiLU Trilu
""".split()
ZERO_POINT = 2
"""The operand of QuantizeLinear whose type the result has."""


def _hash_type(_: Sequence[int], attributes: Attributes) -> int:
    """Return the result type of MurmurHash3, by the attribute `positive`: uint32 for 1 (default), int32 for 0."""
    positive = attributes.get("positive", 1)
    return {0: TensorProto.INT32, 1: TensorProto.UINT32}.get(positive if isinstance(positive, int) else -1, 0)


def _quantized_type(types: Sequence[int], _: Attributes) -> int:
    """Return the type of the zero point (operand 2), or uint8 if the zero point is absent."""
    return like(ZERO_POINT)(types, {}) if len(types) > ZERO_POINT else TensorProto.UINT8


def _bitmask_dropout(call: Call) -> Results:
    """Return the result shapes of BitmaskDropout: operand 0's shape, and the shape of the mask.

    The mask has one bit for each element, packed into words of 32 bits: ceil(elements / 32) words.
    """
    dims = call.dims(0)
    words = None if dims is None else Shape((call.terms.ceildiv(call.terms.mul(*dims), 32),))
    return (call.shape(0), words)


def _halved(call: Call) -> Results:
    """Return the result shape of BiasSplitGelu: `[..,D]` -> `[..,D/2]`."""
    dims = call.dims(0)
    return (with_size(dims, len(dims) - 1, quotient(call.terms, dims[-1], 2)),) if dims else NOTHING


def _swiglu(call: Call) -> Results:
    """Return the result shape of SwiGLU: the shape of operand 0.

    If operand 1 is absent, operand 0 contains both factors, so the last axis of the result has half the size.
    """
    return (call.shape(0),) if call.has(1) else _halved(call)


def _cdist(call: Call) -> Results:
    """Return the result shape of CDist: [M,N] and [K,N] -> [M,K]."""
    left, right = ranked(call, 0, 2), ranked(call, 1, 2)
    return NOTHING if left is None or right is None else (Shape((left[0], right[0])),)


OPERATORS: Mapping[tuple[str, str], Operator] = {
    **{("", op): Operator(first, SAME) for op in EXPERIMENTAL},
    **{(MICROSOFT, op): Operator(first, SAME) for op in ACTIVATIONS},
    **{(MICROSOFT, op): Operator(multidirectional, SAME) for op in ("QLinearAdd", "QLinearMul", "MulInteger")},
    (MICROSOFT, "BiasDropout"): Operator(shapes_of(0, 0), (like(0), BOOL)),
    (MICROSOFT, "BiasSplitGelu"): Operator(_halved, SAME),
    (MICROSOFT, "BitmaskBiasDropout"): Operator(_bitmask_dropout, (like(0), UINT32)),
    (MICROSOFT, "BitmaskDropout"): Operator(_bitmask_dropout, (like(0), UINT32)),
    (MICROSOFT, "CDist"): Operator(_cdist, SAME),
    (MICROSOFT, "DequantizeLinear"): Operator(dequantized, (like(1),)),
    (MICROSOFT, "LinearAttentionGate"): Operator(shapes_of(0, 0), SAME),
    (MICROSOFT, "MurmurHash3"): Operator(first, (_hash_type,)),
    (MICROSOFT, "NGramRepeatBlock"): Operator(shapes_of(1), (like(1),)),
    (MICROSOFT, "QLinearWhere"): Operator(multidirectional, (like(1),)),
    (MICROSOFT, "QuantizeLinear"): Operator(first, (_quantized_type,)),
    (MICROSOFT, "SampleOp"): Operator(first, SAME, moves="Identity"),
    (MICROSOFT, "SwiGLU"): Operator(_swiglu, SAME),
}

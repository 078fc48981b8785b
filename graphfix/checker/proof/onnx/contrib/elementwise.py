"""Rules for onnxruntime's operators whose results have an operand's shape: activations, normalizations, experts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.proof.core.result import SOME_SCORES
from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.onnx.contrib.results import UNKNOWN, Result, kind_of, same_as, typed, unknown, with_sizes

if TYPE_CHECKING:
    from graphfix.checker.proof.core.sizes import Dims
    from graphfix.checker.proof.onnx.contrib.results import Kind, Operators
    from graphfix.checker.proof.onnx.reading.operands import Call

_TOKENS = 2
"""The rank of token numbers: [batch, positions]."""


def _embedded(call: Call) -> Dims:
    """Return the dims of an embedding: [batch, positions, hidden].

    Operand 0 is tokens[batch,positions], and operand 2 is a table[words,hidden].
    """
    tokens, words = call.sizes(0), call.sizes(2)
    if tokens is None or words is None or len(tokens) != _TOKENS or len(words) != _TOKENS:
        return None
    return (*tokens, words[1])


def _of_each_text(call: Call) -> Dims:
    """Return the dims of a result with one element for each text: [batch], for tokens[batch,positions]."""
    tokens = call.sizes(0)
    return None if tokens is None or len(tokens) != _TOKENS else tokens[:1]


def _premixed(call: Call) -> Dims:
    """Return the dims of a HyperConnectionPreMix, which reduces branches: [..., features].

    Operand 0 is [...,branches,features], or [...,branches*features] with the attribute `num_branches`.
    """
    streams, branches = call.sizes(0), call.integer("num_branches", 0)
    if streams is None or branches < 0 or len(streams) < (1 if branches else _TOKENS):
        return None
    if not branches:
        return (*streams[:-2], streams[-1])
    return (*streams[:-1], call.table.arithmetic.quotient(streams[-1], branches))


def _softmax(call: Call) -> Dims:
    """Return the dims of a QLinearSoftmax: the operand's shape, or None if a size is 0.

    If a size is 0, onnxruntime returns no value at all. If a size may be 0, the proof assumes that it is not.
    """
    sizes = call.sizes(0)
    if sizes is not None and numbers(sizes) is None:
        call.table.assumptions[SOME_SCORES] = None
    return None if sizes is None or 0 in sizes else sizes


def _halved(call: Call) -> Dims:
    """Return the shape of operand 0 with half of the last axis."""
    data = call.sizes(0)
    return None if not data else (*data[:-1], call.table.arithmetic.quotient(data[-1], 2))


def _gated(call: Call) -> Dims:
    """Return the dims of a SwiGLU: the shape of operand 0. Without operand 1, operand 0 contains both halves."""
    return _halved(call) if call.operand(1) is None else call.sizes(0)


def _experts(call: Call) -> Dims:
    """Return the dims of a result of MoEGroupRouter: [tokens, experts].

    Operand 0 is logits[...,experts], or data[tokens,width] for projection weights. Operand 1 is a bias for each expert.
    """
    logits, bias = call.sizes(0), call.sizes(1)
    if not logits or bias is None or len(bias) != 1:
        return None
    return call.table.arithmetic.mul(*logits[:-1]), bias[0]


def _hashed(call: Call) -> Kind:
    """Return the type of a MurmurHash3: uint32, or int32 if the attribute `positive` is 0; None if it is not valid."""
    positive = call.flag("positive", default=True)
    return None if positive is None else TensorProto.UINT32 if positive else TensorProto.INT32


OPERATORS: Operators = {
    **dict.fromkeys(
        "BiasGelu FastGelu Gelu QuickGelu ScaledSiLU GatedAdd GatedRMSNorm BranchwiseRMSNorm HyperConnectionPostMix"
        " MoE QMoE Inverse Trilu SampleOp QLinearLeakyRelu QLinearSigmoid BiasAdd BiasSoftmax GroupNorm"
        " QOrderedGelu QOrderedLayerNormalization LongformerAttention QOrderedLongformerAttention RotaryEmbedding"
        " MRotaryEmbedding".split(),
        (same_as(0),),
    ),
    "QLinearSoftmax": (with_sizes(0, _softmax),),
    "NGramRepeatBlock": (same_as(1),),
    # The sizes of the next four operators are computed with their terms, which read the operands by maps.
    "QLinearAdd": (with_sizes(0, unknown),),
    "QLinearMul": (with_sizes(0, unknown),),
    "QLinearWhere": (with_sizes(1, unknown),),
    "MulInteger": (typed(TensorProto.INT32, unknown),),
    "QuantizeLinear": (Result(same_as(0).sizes, lambda call: next(iter(call.operand_types[2:]), TensorProto.UINT8)),),
    "DequantizeLinear": (Result(same_as(0).sizes, kind_of(1)),),
    "MurmurHash3": (Result(same_as(0).sizes, _hashed),),
    # CPU kernels compute neither the mean nor the inverse deviation.
    "SkipLayerNormalization": (same_as(0), UNKNOWN, UNKNOWN, same_as(0)),
    "SkipSimplifiedLayerNormalization": (same_as(0), UNKNOWN, UNKNOWN, same_as(0)),
    "SkipGroupNorm": (same_as(0), same_as(0)),
    "EmbedLayerNormalization": (with_sizes(2, _embedded), with_sizes(0, _of_each_text), with_sizes(2, _embedded)),
    "QEmbedLayerNormalization": (with_sizes(8, _embedded), with_sizes(0, _of_each_text)),
    "EngramGate": (same_as(0), same_as(0)),
    "HyperConnectionPreMix": (with_sizes(0, _premixed),),
    "BiasDropout": (same_as(0), typed(TensorProto.BOOL, same_as(0).sizes)),
    "BitmaskDropout": (same_as(0),),
    "BitmaskBiasDropout": (same_as(0),),
    "GemmaRotaryEmbedding": (same_as(1), same_as(3)),
    "BiasSplitGelu": (with_sizes(0, _halved),),
    "SwiGLU": (with_sizes(0, _gated),),
    "MoEGroupRouter": (with_sizes(0, _experts), with_sizes(1, _experts), with_sizes(1, _experts)),
    "MoEPacked": (same_as(0),),
}  # fmt: skip
"""The rules of the operators of com.microsoft, by operator."""
STANDARD: Operators = {
    **dict.fromkeys(
        "Affine ImageScaler ParametricSoftplus Scale ScaledTanh MemcpyFromHost MemcpyToHost".split(), (same_as(0),)
    ),
    # Its sizes are computed like those of the operators in `operators.ONTO`.
    "SimplifiedLayerNormalization": (Result(unknown, kind_of(1)), typed(TensorProto.FLOAT, unknown)),
}
"""The rules of onnxruntime's own operators in the standard domain, by operator."""

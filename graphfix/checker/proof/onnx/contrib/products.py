"""Rules for onnxruntime's matrix products, with or without quantized weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.proof.onnx.contrib.results import Result, constant, kind_of, typed, with_sizes
from graphfix.checker.proof.onnx.operators.networks import gemm, stacked

if TYPE_CHECKING:
    from graphfix.checker.proof.core.sizes import Dims, Size, Sizes
    from graphfix.checker.proof.onnx.contrib.results import Kind, Operators, SizesRule
    from graphfix.checker.proof.onnx.reading.operands import Call

MATRIX = 2


def _weights(inner: str, outer: str) -> SizesRule:
    """Return the rule for a product of A[...,inner], whose result is [...,outer].

    `inner` and `outer` are names of attributes that contain these sizes.
    """

    def rule(call: Call) -> Dims:
        data, size = call.sizes(0), call.integer(outer, 0)
        if not data or size < 1 or call.integer(inner, 0) < 1:
            return None
        return (*data[:-1], size)

    return rule


def _bnb4(call: Call) -> Dims:
    """Return the dims of a MatMulBnb4: A[...,K] and weights [N,K] -> [...,N].

    If the attribute `transB` is 0, the dims are A[...,N] -> [...,K].
    """
    turned = call.flag("transB", default=True)
    return None if turned is None else _weights("K", "N")(call) if turned else _weights("N", "K")(call)


def _of_stated_weights(call: Call) -> Dims:
    """Return the dims of a MatMulFpQ4: [..., N], where operand 2 contains the shape [K,N] of the weights."""
    data, stated = call.sizes(0), constant(call, 2, MATRIX)
    return None if not data or stated is None else (*data[:-1], stated[1])


def _fused(call: Call) -> Dims:
    """Return the dims of a FusedMatMul: those of a MatMul of operands that may be transposed, but vectors are not.

    With the attribute `transBatchA` or `transBatchB`, that operand is [rows,batch...,columns] instead of
    [batch...,rows,columns].
    """
    turns = [call.flag(name) for name in ("transA", "transB", "transBatchA", "transBatchB")]
    one, two = call.sizes(0), call.sizes(1)
    if None in turns or one is None or two is None:
        return None
    if (turns[2] or turns[3]) and (len(one) != len(two) or len(one) <= MATRIX):
        return None
    one, two = (_unbatched(each) if turn else each for each, turn in ((one, turns[2]), (two, turns[3])))
    return stacked(call, *(_turned(each) if turn else each for each, turn in ((one, turns[0]), (two, turns[1]))))


def _unbatched(sizes: Sizes) -> Sizes:
    """Return the sizes of [rows,batch...,columns] in the order [batch...,rows,columns]."""
    return (*sizes[1:-1], sizes[0], sizes[-1])


def _turned(sizes: Sizes) -> Sizes:
    """Return the shape with the last two axes swapped; a vector or scalar is returned unchanged."""
    return sizes if len(sizes) < MATRIX else (*sizes[:-2], sizes[-1], sizes[-2])


def _plain(call: Call) -> Dims:
    """Return the dims of the matrix product of operands 0 and 1."""
    return stacked(call, call.sizes(0), call.sizes(1))


def _distances(call: Call) -> Dims:
    """Return the dims of a CDist of two matrices: [rows of operand 0, rows of operand 1]."""
    one, two = call.sizes(0), call.sizes(1)
    return (_rows(one), _rows(two))


def _rows(sizes: Sizes | None) -> Size | None:
    """Return the number of rows of a matrix; None for any other shape."""
    return sizes[0] if sizes is not None and len(sizes) == MATRIX else None


def _gemm_kind(call: Call) -> Kind:
    """Return the type of a QGemm: float32, or the type of the result's zero point (operand 8) if that is present."""
    return TensorProto.FLOAT if call.operand(8) is None else kind_of(8)(call)


def _beside_skip(call: Call) -> Dims:
    """Return the dims of a result that exists only with a skip operand: the shape of operand 0.

    Return None without operand 1.
    """
    return call.sizes(0) if call.operand(1) is not None else None


def _by_last(call: Call) -> Dims:
    """Return the dims of a GemmFastGelu: X[...,K] and W[K,N] -> [...,N]."""
    data, weights = call.sizes(0), call.sizes(1)
    return None if not data or weights is None or len(weights) != MATRIX else (*data[:-1], weights[1])


_QKV = tuple(with_sizes(0, _weights("K", name)) for name in ("Nq", "Nkv", "Nkv"))
OPERATORS: Operators = {
    "MatMulNBits": (with_sizes(0, _weights("K", "N")),),
    "MatMulBnb4": (with_sizes(0, _bnb4),),
    "MatMulFpQ4": (with_sizes(0, _of_stated_weights),),
    "MatMulNBitsMlp": (with_sizes(0, _weights("K", "N")), with_sizes(0, _beside_skip)),
    "MatMulNBitsQkv": (*_QKV, with_sizes(0, _beside_skip)),
    "MatMulNBitsQLoRA": (with_sizes(0, _weights("K", "N")),),
    "MatMulPacked": (with_sizes(0, _weights("K", "N")),),
    **dict.fromkeys(("FusedMatMul", "TransposeMatMul", "FusedMatMulActivation"), (with_sizes(0, _fused),)),
    "MatMulInteger16": (typed(TensorProto.INT32, _plain),),
    "MatMulIntegerToFloat": (with_sizes(2, _plain),),
    "DynamicQuantizeMatMul": (typed(TensorProto.FLOAT, _plain),),
    "SparseToDenseMatMul": (with_sizes(1, lambda _: (None, None)),),
    "FusedGemm": (with_sizes(0, lambda call: gemm(call, 0, 1)),),
    "QGemm": (Result(lambda call: gemm(call, 0, 3), _gemm_kind),),
    "GemmFastGelu": (with_sizes(0, _by_last),),
    "CDist": (with_sizes(0, _distances),),
}  # fmt: skip
"""The rules of the operators of com.microsoft, by operator."""

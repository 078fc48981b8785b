"""Matrix products: fused ones, those of quantized matrices, and mixtures of experts.

Sources: onnxruntime's docs/ContribOperators.md and its CPU kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results
from graphfix.formats.onnx.infer.contrib.operator import (
    FLOAT,
    MICROSOFT,
    SAME,
    Attributes,
    Operator,
    like,
    type_attribute,
)
from graphfix.formats.onnx.infer.operators.elementwise import first
from graphfix.formats.onnx.infer.operators.products import MATRIX, gemm, matmul, multiplied
from graphfix.formats.onnx.infer.sizes import positive, product, quotient, ranked, unknowns, with_size
from graphfix.results.onnx_messages import TensorProto
from graphfix.shapes.dim import UNKNOWN, Shape, Size

OUTPUT_ZERO = 8
"""The operand of QGemm that is the result's zero point; without this operand the result is float32."""
TRANSPOSES = ("transA", "transB", "transBatchA", "transBatchB")


def _fused(call: Call) -> Results:
    """Return the result shape of FusedMatMul, whose attributes transpose operands before the product.

    `transA` and `transB` swap the last two axes. `transBatchA` and `transBatchB` move the first axis before the last.
    """
    left, right = call.dims(0), call.dims(1)
    flags = [call.flag(attribute, 0) for attribute in TRANSPOSES]
    if left is None or right is None or None in flags:
        return NOTHING
    turned_left, turned_right, batch_left, batch_right = map(bool, flags)
    if (batch_left or batch_right) and len(left) != len(right):
        return NOTHING
    if min(len(left), len(right)) < MATRIX:
        return _vector(left, right, turned_left=turned_left, turned_right=turned_right)
    return multiplied(
        _turned(left, matrix=turned_left, batch=batch_left), _turned(right, matrix=turned_right, batch=batch_right)
    )


def _vector(left: Sequence[Size], right: Sequence[Size], *, turned_left: bool, turned_right: bool) -> Results:
    """Return the result shape of a FusedMatMul with a vector operand; a vector is never transposed.

    If the other operand is a matrix that is transposed, only the rank of the result is known.
    """
    if (turned_left and len(left) >= MATRIX) or (turned_right and len(right) >= MATRIX):
        found = multiplied(tuple(left), tuple(right))
        return tuple([unknowns(len(shape.dims)) for shape in found if shape is not None])
    return multiplied(tuple(left), tuple(right))


def _turned(dims: tuple[Size, ...], *, matrix: bool, batch: bool) -> tuple[Size, ...]:
    """Return `dims` with axes moved: `batch` moves the first axis before the last; then `matrix` swaps the last two."""
    if batch:
        dims = (*dims[1:-1], dims[0], dims[-1])
    return (*dims[:-2], dims[-1], dims[-2]) if matrix else dims


def _sparse(call: Call) -> Results:
    """Return the result shape of SparseToDenseMatMul: [?,N], because the shape of the sparse operand is unknown."""
    dims = ranked(call, 1, MATRIX)
    turned = call.flag("transB", 0)
    return (Shape((UNKNOWN, UNKNOWN if dims is None or turned is None else dims[0 if turned else 1])),)


def _columns(call: Call) -> Results:
    """Return the result shape of MatMulNBits: `[..,K]` -> `[..,N]`, where `N` is an attribute."""
    dims = call.dims(0)
    return (with_size(dims, len(dims) - 1, positive(call, "N")),) if dims else NOTHING


def _columns_of_shape(call: Call) -> Results:
    """Return the result shape of MatMulFpQ4: `[..,K]` -> `[..,N]`; operand 2 contains the weight's shape [K,N]."""
    dims, packed = call.dims(0), call.content(2)
    if not dims:
        return NOTHING
    packed_shape = packed.axes if packed is not None else None
    return (
        with_size(
            dims,
            len(dims) - 1,
            packed_shape[1] if packed_shape is not None and len(packed_shape) == MATRIX else UNKNOWN,
        ),
    )


def _rows_of_weight(call: Call) -> Results:
    """Return the result shape of a product with a weight [N,K]: `[..,K]` -> `[..,N]`."""
    dims, weight = call.dims(0), ranked(call, 1, MATRIX)
    return (with_size(dims, len(dims) - 1, weight[0] if weight else UNKNOWN),) if dims else NOTHING


def _gated(call: Call) -> Results:
    """Return the result shapes of MatMulNBitsMlp: `[..,N]`, and operand 0's shape for the sum that is normalized."""
    return (*(_columns(call) or (None,)), call.shape(0))


def _projected(call: Call) -> Results:
    """Return the result shapes of MatMulNBitsQkv: query `[..,Nq]`, key and value `[..,Nkv]`, and the normalized sum.

    `Nq` and `Nkv` are attributes. The normalized sum has the shape of operand 0.
    """
    dims = call.dims(0)
    if not dims:
        return NOTHING
    query, key = (with_size(dims, len(dims) - 1, positive(call, name)) for name in ("Nq", "Nkv"))
    return (query, key, key, call.shape(0))


def _routed_and_gated(call: Call) -> Results:
    """Return the two result shapes of RouterGateUpProj, `[..,R]` and `[..,I]`, from a weight [K,R+2*I].

    R is the attribute `router_size`.
    """
    dims, weight, router = call.dims(0), ranked(call, 1, MATRIX), positive(call, "router_size")
    if not dims:
        return NOTHING
    inner = quotient(call.terms, call.terms.sub(weight[1], router), 2) if weight else UNKNOWN
    return (with_size(dims, len(dims) - 1, router), with_size(dims, len(dims) - 1, inner))


def _routed(call: Call) -> Results:
    """Return the shapes of the three results of MoEGroupRouter, each [tokens,experts]."""
    dims, experts, projection = call.dims(0), ranked(call, 1, 1), ranked(call, 2, MATRIX)
    if not dims:
        return NOTHING
    count = experts[0] if experts else projection[0] if projection else UNKNOWN
    return (Shape((product(call.terms, *dims[:-1]), count)),) * 3


def _quantized_type(types: Sequence[int], _: Attributes) -> int:
    """Return the result type of QGemm: float32 without operand 8, else the type of operand 8, the zero point."""
    return types[OUTPUT_ZERO] if len(types) > OUTPUT_ZERO else TensorProto.FLOAT


def _integer_type(types: Sequence[int], _: Attributes) -> int:
    """Return the result type of MatMulInteger16: int32 for two int16, uint32 for two uint16, else 0 (unknown)."""
    wide_types: Mapping[int, int] = {TensorProto.INT16: TensorProto.INT32, TensorProto.UINT16: TensorProto.UINT32}
    codes = {wide_types.get(code, 0) for code in types[:2]}
    return codes.pop() if len(codes) == 1 else 0


_OF_N_COLUMNS = "MatMulBnb4 MatMulNBits MatMulNBitsQLoRA MatMulPacked".split()
OPERATORS: Mapping[tuple[str, str], Operator] = {
    **{(MICROSOFT, op): Operator(_fused, SAME) for op in ("FusedMatMul", "FusedMatMulActivation", "TransposeMatMul")},
    **{(MICROSOFT, op): Operator(_columns, SAME) for op in _OF_N_COLUMNS},
    **{(MICROSOFT, op): Operator(first, SAME) for op in ("MoE", "MoEPacked", "QMoE")},
    **{
        (MICROSOFT, op): Operator(_rows_of_weight, SAME)
        for op in ("MatMulBlockQuantizedFp4Weight", "MatMulBlockQuantizedFp8Weight")
    },
    (MICROSOFT, "DynamicQuantizeMatMul"): Operator(matmul, (FLOAT,)),
    (MICROSOFT, "FusedGemm"): Operator(gemm, SAME),
    (MICROSOFT, "GemmFastGelu"): Operator(matmul, SAME),
    (MICROSOFT, "GemmFloat8"): Operator(gemm, (type_attribute("dtype", FLOAT),)),
    (MICROSOFT, "MatMulFpQ4"): Operator(_columns_of_shape, SAME),
    (MICROSOFT, "MatMulInteger16"): Operator(matmul, (_integer_type,)),
    (MICROSOFT, "MatMulIntegerToFloat"): Operator(matmul, (like(2, 3),)),
    (MICROSOFT, "MatMulNBitsMlp"): Operator(_gated, SAME),
    (MICROSOFT, "MatMulNBitsQkv"): Operator(_projected, SAME),
    (MICROSOFT, "MoEGroupRouter"): Operator(_routed, (like(0), FLOAT)),
    (MICROSOFT, "QGemm"): Operator(gemm, (_quantized_type,)),
    (MICROSOFT, "RouterGateUpProj"): Operator(_routed_and_gated, SAME),
    (MICROSOFT, "SparseToDenseMatMul"): Operator(_sparse, (like(1),)),
}

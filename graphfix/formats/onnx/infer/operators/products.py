"""Shape rules of matrix products. Sources: the ONNX operator specification, numpy.matmul."""

from __future__ import annotations

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results
from graphfix.formats.onnx.infer.operators.elementwise import first
from graphfix.formats.onnx.infer.operators.reshaping import unknowns
from graphfix.shapes import shape as shapes
from graphfix.shapes.shape import Shape, Size

MATRIX = 2
"""[rows, columns]."""


def matmul(call: Call) -> Results:
    """numpy.matmul of the two operands that the row of the catalogue names.

    If the inner size is 0, onnxruntime returns the batch of the first operand, whatever the second one's is: no shape
    is derived where they differ.
    """
    if call.row is None or len(call.row.operands) < 2:  # noqa: PLR2004 -- a product has two operands
        return NOTHING
    left, right = (call.dims(operand.index) for operand in call.row.operands[:2])
    if left is None or right is None or (left[-1:] == (0,) and left[:-2] != right[:-2]):
        return NOTHING
    return multiplied(left, right)


def multiplied(left: tuple[Size, ...], right: tuple[Size, ...]) -> Results:
    """Batch axes broadcast, [.., M, K] x [.., K, N]; a rank-1 operand is promoted, its axis removed."""
    if not left or not right:
        return NOTHING
    batch = shapes.broadcast(Shape(left[:-2]), Shape(right[:-2])).dims
    rows = left[-2:-1] if len(left) > 1 else ()
    columns = right[-1:] if len(right) > 1 else ()
    return (Shape((*batch, *rows, *columns)),)


def gemm(call: Call) -> Results:
    """[M,N], by transA and transB."""
    at = call.row.product if call.row is not None and call.row.product is not None else (0, 1)
    left, right = (call.dims(index) for index in at)
    if left is None or right is None or len(left) != MATRIX or len(right) != MATRIX:
        return NOTHING
    first_turned, second_turned = call.flag("transA", 0), call.flag("transB", 0)
    if first_turned is None or second_turned is None:
        return (unknowns(2),)
    return (Shape((left[first_turned], right[not second_turned])),)


def legacy(call: Call) -> Results:
    """Before opset 7 the second operand is broadcast onto the first; Gemm's third onto the product."""
    return gemm(call) if call.op == "Gemm" else first(call)

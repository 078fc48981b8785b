"""Rules of matrix products, Einsum and determinants. Sources: the ONNX operator specification, numpy.matmul."""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results, Rule
from graphfix.formats.onnx.infer.operators.elementwise import first
from graphfix.formats.onnx.infer.sizes import unknowns
from graphfix.shapes import shape as shapes
from graphfix.shapes.dim import UNKNOWN, Shape, Size, same

MATRIX = 2
"""The rank of [rows, columns]."""


def matmul(call: Call) -> Results:
    """numpy.matmul of the two operands that the row of the catalogue names.

    If the inner size is 0, onnxruntime returns the batch of the first operand, whatever the batch of the second is. No
    shape is derived if these batches differ.
    """
    if call.row is None or len(call.row.operands) < 2:  # noqa: PLR2004 -- a product has two operands
        return NOTHING
    left, right = (call.dims(operand.index) for operand in call.row.operands[:2])
    if left is None or right is None or (left[-1:] == (0,) and left[:-2] != right[:-2]):
        return NOTHING
    return multiplied(left, right)


def multiplied(left: tuple[Size, ...], right: tuple[Size, ...]) -> Results:
    """Broadcast the batch axes of [.., M, K] x [.., K, N]; a rank-1 operand is promoted, and its axis removed."""
    if not left or not right:
        return NOTHING
    batch = shapes.broadcast(Shape(left[:-2]), Shape(right[:-2])).dims
    columns = right[-1:] if len(right) > 1 else ()
    return (Shape((*batch, *left[-2:-1], *columns)),)


def gemm(call: Call) -> Results:
    """Return [M,N], by transA and transB."""
    at = call.row.product if call.row is not None and call.row.product is not None else (0, 1)
    left, right = (call.dims(index) for index in at)
    if left is None or right is None or len(left) != MATRIX or len(right) != MATRIX:
        return NOTHING
    first_turned, second_turned = call.flag("transA", 0), call.flag("transB", 0)
    if first_turned is None or second_turned is None:
        return (unknowns(2),)
    return (Shape((left[first_turned], right[not second_turned])),)


def legacy(call: Call) -> Results:
    """Before opset 7 the second operand is broadcast onto the first; the third operand of Gemm onto the product."""
    return gemm(call) if call.op == "Gemm" else first(call)


def einsum(call: Call) -> Results:
    """Return one axis for each letter behind the arrow.

    Without an arrow, the result has the letters that occur once, in the order of the alphabet.
    """
    equation = call.text("equation").replace(" ", "")
    terms, arrow, result = equation.partition("->")
    if not equation or "." in equation:
        return NOTHING
    if not arrow:
        result = "".join(sorted(letter for letter in set(terms) - {","} if terms.count(letter) == 1))
    sizes: dict[str, list[Size]] = {}
    for index, term in enumerate(terms.split(",")):
        dims = call.dims(index)
        term_sizes = dims if dims is not None and len(dims) == len(term) else (UNKNOWN,) * len(term)
        for letter, size in zip(term, term_sizes, strict=True):
            sizes.setdefault(letter, []).append(size)
    return (Shape(tuple([_common_size(sizes.get(letter, [])) for letter in result])),)


def _common_size(sizes: list[Size]) -> Size:
    """Return the size that all operands have under one letter; unknown if they differ, because a 1 is stretched."""
    return sizes[0] if sizes and all(same(size, sizes[0]) for size in sizes) else UNKNOWN


def determinants(call: Call) -> Results:
    """Det: a number for each matrix [..,M,M]."""
    dims = call.dims(0)
    return NOTHING if dims is None or len(dims) < MATRIX else (Shape(dims[:-2]),)


SHAPES: Mapping[str, Rule] = {"Det": determinants, "Einsum": einsum}
BY_STYLE: Mapping[str, Rule] = {"matmul": matmul, "gemm": gemm, "legacy": legacy}
"""By the style of the catalogue's row: the rules of the operators that are in no table by name."""

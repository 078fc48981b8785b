"""Whether a node keeps its result, and its bits, when it reads other operands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfix.graph.broadcast import Alignment, align_anyhow
from graphfix.graph.operand_replacement import Operands, becomes_square, keeps_bits, keeps_result
from graphfix.graph.view import Node
from graphfix.shapes.dim import Shape
from tests.support.notation import node


def aligned(text: str) -> tuple[Node, Alignment]:
    made = node(text)
    alignment = align_anyhow(made)
    assert alignment is not None
    return made, alignment


def other(of: Node, at: int, *sizes: int) -> Operands:
    """An operand in another shape."""
    return {at: replace(of.operand(at), shape=Shape(sizes))}


@pytest.mark.parametrize(
    ("sizes", "keeps"),
    [((2, 1), True), ((1, 3), True), ((3,), True), ((1, 1, 3), False), ((4, 3), False)],
    ids=["stretched on the last axis", "stretched on the first axis", "lifted", "a rank more", "does not broadcast"],
)
def test_a_result_keeps_its_shape_beside_a_whole_operand(sizes: tuple[int, ...], keeps: bool) -> None:
    add, before = aligned("y[2,3] = Add(x[2,3], b[2,3])")
    assert keeps_result(add, before, other(add, 1, *sizes)) == keeps
    assert keeps_bits(add, before, other(add, 1, *sizes)) == (sizes != (4, 3))


def test_a_result_of_other_sizes_is_kept_only_where_unit_axes_alone_go() -> None:
    add, before = aligned("y[2,3] = Add(x[2,3], b[1,3])")
    assert not keeps_result(add, before, other(add, 0, 1, 3))
    assert keeps_result(add, before, other(add, 0, 1, 3), lifts=True)


def test_a_rank_that_the_runtime_does_not_broadcast_keeps_no_bits() -> None:
    add, before = aligned("y[1,1,1,1,2,3] = tflite.ADD(x[1,1,1,1,2,3], b[1,1,1,1,2,3])")
    assert keeps_bits(add, before, other(add, 1, 2, 3))
    assert not keeps_bits(add, before, other(add, 1, *[1] * 7, 2, 3))


def test_a_product_of_8_bits_is_not_made_a_square() -> None:
    for dtype, square in (("int8", True), ("uint8", True), ("int16", False), ("float32", False)):
        product = node(f"y:{dtype}[2,3] = tflite.MUL(a:{dtype}[2,3], b:{dtype}[2,3])")
        assert becomes_square(product, {1: product.operand(0)}) == square, dtype
        assert not becomes_square(product, {}), dtype


@pytest.mark.parametrize(
    ("text", "sizes", "keeps"),
    [
        ("y[2,3,5] = MatMul(a[2,3,4], b[2,4,5])", (4, 5), True),
        ("y[2,3,5] = MatMul(a[2,3,4], b[2,4,5])", (1, 4, 5), True),
        ("y[2,3,1] = MatMul(a[2,3,4], b[2,4,1])", (4,), False),
        ("y[2,3,5] = MatMul(a[2,3,4], b[2,4,5])", (2, 1, 5), False),
        ("y[2,3] = MatMul(a[2,3,4], b[4])", (4,), False),
    ],
    ids=["no stack", "a stack of one", "a vector", "a row", "a vector in place of a vector"],
)
def test_a_matrix_product_keeps_its_matrices(text: str, sizes: tuple[int, ...], keeps: bool) -> None:
    product, before = aligned(text)
    assert keeps_result(product, before, other(product, 1, *sizes)) == keeps


@pytest.mark.parametrize(
    ("text", "from_a", "square"),
    [
        ("y:int8[2,3] = tflite.MUL(a:int8[2,3], b:int8[2,3])", (1,), True),
        ("y:int8[2,3] = tflite.MUL(b:int8[2,3], a:int8[2,3])", (0,), True),
        ("y:int8[2,3] = tflite.MUL(b:int8[2,3], c:int8[2,3])", (0, 1), True),
        ("y:int8[2,3] = tflite.MUL(b:int8[2,3], c:int8[2,3])", (0,), False),
        ("y:int8[2,3] = tflite.MUL(b:int8[2,3], b)", (0, 1), False),
        ("y:int8[2,3] = tflite.ADD(a:int8[2,3], b:int8[2,3])", (1,), False),
        ("y:int8[2,3] = Mul(a:int8[2,3], b:int8[2,3])", (1,), False),
        ("y:int8[2,3] = com.microsoft.MUL(a:int8[2,3], b:int8[2,3])", (1,), False),
    ],
)
def test_a_square_is_a_product_of_tflite_that_reads_one_value_twice_and_did_not_before(
    text: str, from_a: tuple[int, ...], square: bool
) -> None:
    product = node(text)
    a = next((each for each in product.operands if each is not None and each.name == "a"), product.results[0])
    assert a is not None
    assert becomes_square(product, dict.fromkeys(from_a, a)) == square

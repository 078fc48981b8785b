"""Whether a node keeps its result, and its bits, when it reads other operands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfix.graph.broadcast import Alignment, align_anyhow
from graphfix.graph.operand_replacement import (
    Operands,
    _is_lifted,
    _is_stretched,
    becomes_square,
    broadcast_operands,
    is_alone,
    is_at_hand,
    keeps_bits,
    keeps_result,
    may_lift,
)
from graphfix.graph.view import Node
from graphfix.shapes.dim import Shape, symbol
from tests.support import engine
from tests.support.notation import model, node


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
        ("y[3,5] = MatMul(a[3,4], b[4,5])", (4, 5), True),
    ],
    ids=["no stack", "a stack of one", "a vector", "a row", "a vector in place of a vector", "a matrix alone"],
)
def test_a_matrix_product_keeps_its_matrices(text: str, sizes: tuple[int, ...], keeps: bool) -> None:
    product, before = aligned(text)
    assert keeps_result(product, before, other(product, 1, *sizes)) == keeps


def test_each_of_two_operands_of_a_matrix_product_keeps_its_matrix() -> None:
    product, before = aligned("y[2,1,1] = MatMul(a[2,1,4], b[2,4,1])")
    assert keeps_result(product, before, {**other(product, 0, 1, 4), **other(product, 1, 2, 4, 1)})
    assert not keeps_result(product, before, {**other(product, 0, 2, 1, 4), **other(product, 1, 2, 5, 1)})
    assert not keeps_result(product, before, {**other(product, 0, 2, 3, 4), **other(product, 1, 2, 4, 1)})


@pytest.mark.parametrize(
    ("text", "sizes", "keeps"),
    [
        ("y[2,3] = PRelu(x[2,3], s[N,3])", (1, 3), False),
        ("y[2,3] = PRelu(x[2,3], s[2,N])", (2, 1), False),
        ("y[2,3] = PRelu(x[2,3], s[2,3])", (1, 3), True),
        ("y[2,3] = PRelu(x[2,3], s[1,3])", (3,), True),
        ("y[N,3] = PRelu(x[N,3], s[N,3])", (1, 3), True),
        ("y[2,3] = Add(x[2,3], s[N,3])", (1, 3), True),
        ("y[2,1] = PRelu(x[2,1], s[2,N])", (2, 1), False),
    ],
)
def test_an_operand_that_is_broadcast_onto_a_shape_still_requires_its_sizes(
    text: str, sizes: tuple[int, ...], keeps: bool
) -> None:
    reader, before = aligned(text)
    assert keeps_result(reader, before, other(reader, 1, *sizes)) == keeps


@pytest.mark.parametrize(
    ("text", "read", "square"),
    [
        ("y:int8[2] = tflite.MUL(a:int8[2], b:int8[2])", {0: "b"}, True),
        ("y:int8[2] = tflite.MUL(a:int8[2], b:int8[2])", {0: "b", 1: "a"}, False),
        ("y:int8[2] = tflite.MUL(a:int8[2], a)", {0: "y", 1: "y"}, False),
        ("y:int8[2] = tflite.MUL(a:int8[2], b:int8[2])", {0: "y", 1: "y"}, True),
        ("y:int8[2] = tflite.ADD(a:int8[2], b:int8[2])", {0: "b"}, False),
        ("y:int8[2] = Mul(a:int8[2], b:int8[2])", {0: "b"}, False),
        ("y:int8[2] = MUL(a:int8[2], b:int8[2])", {0: "b"}, False),
        ("y:int8[2] = tflite.MUL(a:int8[2])", {0: "y"}, False),
    ],
)
def test_a_square_is_a_product_of_two_operands_that_become_one(text: str, read: dict[int, str], square: bool) -> None:
    product = node(text)
    values = {value.name: value for value in (*product.operands, *product.results) if value is not None}
    assert becomes_square(product, {at: values[name] for at, name in read.items()}) == square


def test_the_operands_that_are_broadcast_are_those_without_the_one_that_others_are_broadcast_onto() -> None:
    for text, operands in {
        "y[2,3] = PRelu(x[2,3], s[3])": [1],
        "y[2,3] = Where(c:bool[2,3], a[3], b[2,3])": [0, 1, 2],
        "y[2,3] = LayerNormalization(x[2,3], s[3], b[3])": [1, 2],
        "y[2,3] = Own(x[2,3], s[3])": [],
    }.items():
        assert [at for at, _ in broadcast_operands(node(text))] == operands, text


@pytest.mark.parametrize(
    ("one", "other", "lifted", "stretched"),
    [
        (Shape((3,)), Shape((1, 3)), True, False),
        (Shape((1, 3)), Shape((3,)), False, False),
        (Shape((1, 3)), Shape((2, 3)), False, True),
        (Shape((3,)), Shape((2, 3)), True, True),
        (Shape((2, 3)), Shape((2, 3)), False, False),
        (Shape((symbol("N"),)), Shape((3,)), False, True),
        (Shape(None), Shape((3,)), True, True),
        (Shape((3,)), Shape(None), True, True),
    ],
)
def test_what_has_no_rank_needs_a_lift_and_a_stretch(one: Shape, other: Shape, lifted: bool, stretched: bool) -> None:
    value, to = (replace(node("y[2] = Neg(x[2])").operand(0), shape=shape) for shape in (one, other))
    assert (_is_lifted(value, to), _is_stretched(value, to)) == (lifted, stretched)


def test_an_operand_that_a_runtime_must_not_lift_keeps_no_bits_in_another_rank() -> None:
    norm, before = aligned("y[2,3] = LayerNormalization(x[2,3], s[1,3], b[1,3])")
    assert not keeps_bits(norm, before, other(norm, 1, 3))
    assert not keeps_bits(norm, before, {1: replace(norm.operand(1), shape=Shape(None))})
    assert keeps_bits(norm, before, other(norm, 1, 1, 3))
    assert [may_lift(norm, before, at) for at in (1, 2)] == [False, False]
    add, before = aligned("y[2,3] = Add(x[2,3], b[3])")
    assert may_lift(add, before, 1)


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("k[2] = Neg(x[2])\ny[2] = Abs(k)", True),
        ("k[2] = Neg(x[2])\ny[2] = Add(k, k)", False),
        ("k[2] = Neg(x[2])\ny[2] = Abs(k)\nz[2] = Abs(k)", False),
        ("k[2] = Neg(x[2])", False),
    ],
    ids=["read once", "read twice by one node", "read by two nodes", "an output"],
)
def test_a_value_is_alone_where_one_operand_reads_it(text: str, alone: bool) -> None:
    values = {value.name: value for value in engine.load(model(text)).graphs[0].nodes[0].results if value is not None}
    assert is_alone(values["k"]) == alone


@pytest.mark.parametrize(
    ("text", "at_hand"),
    [
        ("y[2] = Abs(k:const[2])", True),
        ("y[2] = Abs(k[2])", False),
        ("k[2] = DequantizeLinear(q:const:int8[2], s:const[]{0.5})\ny[2] = Abs(k)", True),
        ("k[2] = DequantizeLinear(q:const:int8[2], s:const[]{0.5})\ny[2] = Add(k, k)", False),
        ("k[2] = DequantizeLinear(q:const:int8[2], s:const[]{0.5})\ny[2] = Abs(k)\nz[2] = Neg(k)", False),
        ("k[2] = DequantizeLinear(q:int8[2], s:const[]{0.5})\ny[2] = Abs(k)", False),
        ("y[2] = Add(k:const[2], k)", True),
    ],
)
def test_a_constant_is_at_hand_itself_and_dequantized_where_one_operand_reads_that(text: str, at_hand: bool) -> None:
    reader = next(each for each in engine.load(model(text)).graphs[0].nodes if each.op in ("Abs", "Add"))
    assert is_at_hand(reader.operand(0)) == at_hand


def test_where_unit_axes_go_the_rank_of_the_result_stays_and_has_to_be_known() -> None:
    add, before = aligned("y[2,3] = Add(x[2,3], b[3])")
    assert not keeps_result(add, before, other(add, 0, 3), lifts=True)
    add, before = aligned("y[*] = Add(x[*], b[1,3])")
    assert not keeps_result(add, before, other(add, 1, 3), lifts=True)


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

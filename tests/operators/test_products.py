"""The catalogue's matrix products, asked of onnxruntime."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from graphfix.operators.row import Seen
from tests.support.runtimes.one_node import (
    MICROSOFT,
    NEWEST,
    Array,
    Key,
    Refused,
    lifted,
    name_of,
    numbers,
    row_of,
    run,
    same_bits,
    stretched,
)

if TYPE_CHECKING:
    from collections.abc import Callable

BATCHES = (
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (6, 4, 5)),
    ((1, 3, 4), (2, 4, 5)),
    ((0, 3, 4), (4, 5)),
)
INNER_ZERO = ((2, 3, 0), (0, 5))
"""For floats only: onnxruntime 1.31 leaves the result of a quantized product uninitialized when K is 0."""
ONE = np.array(1, dtype=np.float32)


def plain(a: Array, b: Array) -> list[Array | None]:
    return [a, b]


def with_zero_points(a: Array, b: Array) -> list[Array | None]:
    return [a, b, np.array(1, dtype=a.dtype), np.array(2, dtype=b.dtype)]


def with_scales_and_zero_points(a: Array, b: Array) -> list[Array | None]:
    return [a, b, ONE, ONE, np.array(1, dtype=a.dtype), np.array(2, dtype=b.dtype)]


def with_result_scale(a: Array, b: Array) -> list[Array | None]:
    zero_point_a, zero_point_b = np.array(1, dtype=a.dtype), np.array(2, dtype=b.dtype)
    return [a, ONE, zero_point_a, b, ONE, zero_point_b, ONE, np.array(0, dtype=a.dtype)]


def with_weight_scale(a: Array, b: Array) -> list[Array | None]:
    return [a, b, ONE, np.array(2, dtype=b.dtype)]


def integer_product(a: Array, b: Array) -> Array:
    return np.asarray(np.matmul(a.astype(np.int64), b.astype(np.int64)))


def product_from_zero_points(a: Array, b: Array) -> Array:
    return np.asarray(np.matmul(a.astype(np.int64) - 1, b.astype(np.int64) - 2))


def saturated_product(a: Array, b: Array) -> Array:
    limits = np.iinfo(a.dtype)
    return np.asarray(np.clip(product_from_zero_points(a, b), limits.min, limits.max))


@dataclass(frozen=True)
class Question:
    """What to ask of a product's row: the types of A and B, numpy's answer, versions, the other operands."""

    types: tuple[tuple[str, str], ...]
    numpy: Callable[[Array, Array], Array] = np.matmul
    versions: tuple[int, ...] = (1,)
    place: Callable[[Array, Array], list[Array | None]] = plain
    tolerance: float = 1e-6


FLOATS = (("float32", "float32"), ("float64", "float64"))
BYTES = (("uint8", "uint8"), ("uint8", "int8"))
QUESTIONS: dict[Key, Question] = {
    ("", "MatMul", 1): Question(FLOATS, versions=(1, 9, 13, NEWEST)),
    ("", "MatMulInteger", 10): Question(BYTES, product_from_zero_points, (10, NEWEST), with_zero_points),
    ("", "QLinearMatMul", 10): Question(BYTES[:1], saturated_product, (10, 21, NEWEST), with_result_scale),
    (MICROSOFT, "FusedMatMul", 1): Question(FLOATS[:1]),
    (MICROSOFT, "TransposeMatMul", 1): Question(FLOATS[:1]),
    (MICROSOFT, "MatMulInteger16", 1): Question((("int16", "int16"),), integer_product),
    (MICROSOFT, "MatMulIntegerToFloat", 1): Question(
        BYTES, product_from_zero_points, place=with_scales_and_zero_points
    ),
    (MICROSOFT, "DynamicQuantizeMatMul", 1): Question(
        (("float32", "uint8"), ("float32", "int8")),
        lambda a, b: np.matmul(a, b.astype(np.float32) - 2),
        place=with_weight_scale,
        tolerance=0.1,
    ),
}
FLOAT_PRODUCTS = [key for key, question in QUESTIONS.items() if question.types[0] == FLOATS[0]]
PER_COLUMN = {
    ("", "MatMulInteger", 10): (3,),
    ("", "QLinearMatMul", 10): (4, 5),
    (MICROSOFT, "MatMulIntegerToFloat", 1): (3, 5),
    (MICROSOFT, "DynamicQuantizeMatMul", 1): (2, 3),
}
"""Where the scale (if any) and the zero point of B stand."""


def batches(key: Key) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    return (*BATCHES, INNER_ZERO) if key in FLOAT_PRODUCTS else BATCHES


def multiply(key: Key, version: int, a: Array, b: Array) -> list[Array]:
    return run(key[1], *QUESTIONS[key].place(a, b), domain=key[0], opset=version)


@pytest.mark.parametrize("key", QUESTIONS, ids=name_of)
def test_batch_axes_follow_numpy_and_a_lifted_operand_gives_the_same_bits(key: Key) -> None:
    question = QUESTIONS[key]
    for version in question.versions:
        for kind_a, kind_b in question.types:
            for shape_a, shape_b in batches(key):
                a, b = numbers(kind_a, *shape_a), numbers(kind_b, *shape_b, seed=1)
                where = f"{version} {kind_a} {shape_a} {shape_b}"
                implicit = multiply(key, version, a, b)
                expected = question.numpy(a, b)
                np.testing.assert_allclose(
                    implicit[0], expected, rtol=question.tolerance, atol=question.tolerance, err_msg=where
                )
                rank = max(a.ndim, b.ndim)
                assert same_bits(multiply(key, version, lifted(a, rank), b), implicit), where
                assert same_bits(multiply(key, version, a, lifted(b, rank)), implicit), where


@pytest.mark.parametrize("key", QUESTIONS, ids=name_of)
def test_a_rank_1_operand_is_promoted_so_that_lifting_it_changes_the_result_s_shape(key: Key) -> None:
    kind_a, kind_b = QUESTIONS[key].types[0]
    version = QUESTIONS[key].versions[-1]
    matrices = numbers(kind_a, 2, 3, 4)
    vector = numbers(kind_b, 4)
    assert multiply(key, version, matrices, vector)[0].shape == (2, 3)
    with pytest.raises(Refused):
        multiply(key, version, matrices, lifted(vector, 3))
    vector, matrices = numbers(kind_a, 4), numbers(kind_b, 2, 4, 5)
    assert multiply(key, version, vector, matrices)[0].shape == (2, 5)
    assert multiply(key, version, lifted(vector, 3), matrices)[0].shape == (2, 1, 5)
    for operand in row_of(key).operands:
        assert operand.keep_rank is not None
        assert operand.keep_rank.holds(Seen(1))


@pytest.mark.parametrize("key", FLOAT_PRODUCTS, ids=name_of)
def test_a_lifted_constant_weight_loses_its_packing_and_some_bits(key: Key) -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 7, 256), dtype=np.float32)
    weight = random.standard_normal((256, 128), dtype=np.float32)

    def product(b: Array, *, packing: bool) -> list[Array]:
        return run(key[1], x, b, domain=key[0], opset=key[2], constants=(1,), packing=packing)

    packed = product(weight, packing=True)
    unpacked = product(weight[None], packing=True)
    np.testing.assert_allclose(packed[0], unpacked[0], rtol=1e-3, atol=1e-4)
    assert not same_bits(packed, unpacked)
    assert same_bits(product(weight, packing=False), product(weight[None], packing=False))
    left, right = row_of(key).operands
    assert right.keep_rank is not None
    assert right.keep_rank.holds(Seen(2, constant=True))
    assert right.keep_rank.holds(Seen(2)) is None
    assert left.keep_rank is not None
    assert left.keep_rank.holds(Seen(2, constant=True)) is None, "only B is packed"


@pytest.mark.parametrize("key", FLOAT_PRODUCTS, ids=name_of)
def test_a_constant_matrix_on_the_left_is_not_packed_and_keeps_its_bits_when_lifted(key: Key) -> None:
    random = np.random.default_rng(0)
    left = random.standard_normal((7, 256), dtype=np.float32)
    right = random.standard_normal((2, 256, 128), dtype=np.float32)
    results = [
        run(key[1], a, right, domain=key[0], opset=key[2], constants=(0,), packing=True) for a in (left, left[None])
    ]
    assert same_bits(*results)


@pytest.mark.parametrize("key", FLOAT_PRODUCTS, ids=name_of)
def test_a_stretched_matrix_changes_bits_where_the_other_has_one_row(key: Key) -> None:
    random = np.random.default_rng(0)
    rows = random.standard_normal((8, 1, 256), dtype=np.float32)
    weight = random.standard_normal((256, 128), dtype=np.float32)
    implicit = multiply(key, key[2], rows, weight)
    explicit = multiply(key, key[2], rows, stretched(weight, (8, 256, 128)))
    np.testing.assert_allclose(implicit[0], explicit[0], rtol=1e-3, atol=1e-4)
    assert not same_bits(implicit, explicit)
    assert all(operand.keep_dims is not None for operand in row_of(key).operands)


@pytest.mark.parametrize("key", [key for key in QUESTIONS if key not in FLOAT_PRODUCTS], ids=name_of)
def test_an_integer_product_is_left_for_its_cost_because_stretching_changes_no_bit(key: Key) -> None:
    kind_a, kind_b = QUESTIONS[key].types[0]
    a, b = numbers(kind_a, 2, 3, 4), numbers(kind_b, 4, 5)
    implicit = multiply(key, key[2], a, b)
    assert same_bits(multiply(key, key[2], a, stretched(b, (2, 4, 5))), implicit)
    for operand in row_of(key).operands:
        assert operand.keep_dims is not None
        assert "bit" not in operand.keep_dims.reason


@pytest.mark.parametrize("key", PER_COLUMN, ids=name_of)
def test_a_lifted_matrix_is_refused_where_its_zero_points_follow_its_columns(key: Key) -> None:
    kind_a, kind_b = QUESTIONS[key].types[0]
    a, b = numbers(kind_a, 2, 3, 4), numbers(kind_b, 4, 5)

    def product(b: Array) -> list[Array]:
        operands = QUESTIONS[key].place(a, b)
        for index in PER_COLUMN[key]:
            per_tensor = operands[index]
            assert per_tensor is not None
            operands[index] = stretched(per_tensor, (5,))
        return run(key[1], *operands, domain=key[0], opset=key[2])

    assert same_bits(product(b), multiply(key, key[2], a, b))
    with pytest.raises(Refused):
        product(lifted(b, 3))


@pytest.mark.parametrize("attribute", ["transBatchA", "transBatchB"])
def test_a_transposed_batch_requires_equal_ranks_so_that_nothing_is_lifted(attribute: str) -> None:
    x = numbers("float32", 3, 2, 4)
    with pytest.raises(Refused):
        run("FusedMatMul", x, numbers("float32", 4, 5), domain=MICROSOFT, **{attribute: 1})

"""TFLite's rows with a rule of their own, asked of LiteRT: products, PRELU, SELECT, and what needs equal shapes."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from graphfix import operators
from graphfix.operators.row import TFLITE, Row
from tests.support.runtimes.litert_questions import KERNELS, NO_DELEGATE, Answer, Given, Question, ask

if TYPE_CHECKING:
    from collections.abc import Sequence

REFUSED = ("STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM", "STABLEHLO_AND")
NO_KERNEL = {
    *("STABLEHLO_SUBTRACT", "STABLEHLO_DIVIDE", "STABLEHLO_OR", "STABLEHLO_POWER", "STABLEHLO_REMAINDER"),
    *("STABLEHLO_COMPARE", "STABLEHLO_SELECT", "STABLEHLO_CLAMP", "STABLEHLO_BROADCAST_IN_DIM"),
}
SPELLED_OUT = {"BROADCAST_TO"}
ASKED = {"PRELU", "BATCH_MATMUL", "SELECT", "ATAN2", "ADD_N", "STABLEHLO_SHIFT_LEFT", *REFUSED}
RNG = np.random.default_rng(7)


def row(op: str) -> Row:
    found = operators.row(TFLITE, op, 1)
    assert found is not None
    return found


def floats(*shape: int) -> Given:
    return Given(RNG.standard_normal(shape).astype(np.float32))


def whole(dtype: str, *shape: int, scale: float | None = None) -> Given:
    return Given(RNG.integers(-6, 7, shape).astype(dtype), scale)


def one_result(answers: Sequence[Answer]) -> None:
    first = answers[0].array
    for other in answers[1:]:
        assert other.array.shape == first.shape
        assert other.array.tobytes() == first.tobytes()


# --- matrix products --------------------------------------------------------------------------------------------------

BATCHES = {
    # the batch axes of x and y, and of both together
    "a rank lower": ((2, 3), (3,), (2, 3)),
    "a matrix under a batch": ((4,), (), (4,)),
    "stretched on both sides": ((2, 1), (1, 3), (2, 3)),
    "left lower": ((), (3, 2), (3, 2)),
    "rank 5": ((1, 2, 1), (3, 1, 2), (3, 2, 2)),
}
ROWS_OF_M = (1, 4)
"""One row takes another kernel."""


def products(dtype: str, batches: Sequence[tuple[int, ...]], m: int, *, adj_x: bool, adj_y: bool) -> list[Question]:
    """Implicit, lifted and stretched, on each kernel set."""
    of_x, of_y, both = batches
    x = whole(dtype, *of_x, *((5, m) if adj_x else (m, 5)), scale=None if dtype == "float32" else 0.5)
    y = whole(dtype, *of_y, *((3, 5) if adj_y else (5, 3)), scale=None if dtype == "float32" else 0.25)
    if dtype == "float32":
        x, y = floats(*x.data.shape), floats(*y.data.shape)
    lifted = [given.reshaped(*(1,) * (len(both) - given.data.ndim + 2), *given.data.shape) for given in (x, y)]
    stretched = [given.stretched(*both, *given.data.shape[-2:]) for given in (x, y)]
    options = ("BatchMatMulOptions", (("adjX", adj_x), ("adjY", adj_y)))
    scale = None if dtype == "float32" else 2.0
    return [
        Question("BATCH_MATMUL", tuple(form), (*both, m, 3), dtype, scale, options=options, kernels=kernels)
        for kernels in KERNELS
        for form in ((x, y), lifted, stretched)
    ]


@pytest.mark.alike(3)
@pytest.mark.parametrize("dtype", ["float32", "int8", "int16"])
@pytest.mark.parametrize("batches", BATCHES.values(), ids=BATCHES)
def test_batch_axes_are_lifted_and_stretched_without_a_changed_bit(
    dtype: str, batches: Sequence[tuple[int, ...]]
) -> None:
    every = [
        question
        for m, adj_x, adj_y in product(ROWS_OF_M, (False, True), (False, True))
        for question in products(dtype, batches, m, adj_x=adj_x, adj_y=adj_y)
    ]
    replies = ask(every)
    for first in range(0, len(replies), 3):
        one_result(replies[first : first + 3])
    if dtype == "float32":
        for question, answer in zip(every, replies, strict=True):
            x, y = (given.data for given in question.operands)
            flips = dict(question.options[1]) if question.options is not None else {}
            want = (x.swapaxes(-1, -2) if flips["adjX"] else x) @ (y.swapaxes(-1, -2) if flips["adjY"] else y)
            np.testing.assert_allclose(answer.array, want, rtol=1e-4, atol=1e-5)


def test_a_matrix_product_broadcasts_up_to_rank_5_and_takes_no_vector() -> None:
    assert row("BATCH_MATMUL").max_rank == 5
    options = ("BatchMatMulOptions", ())
    six = (floats(2, 1, 2, 1, 3, 4), floats(1, 2, 1, 2, 4, 5))
    five = (floats(2, 1, 2, 3, 4), floats(1, 2, 1, 4, 5))
    replies = ask(
        [
            Question("BATCH_MATMUL", five, (2, 2, 2, 3, 5), "float32", options=options),
            Question("BATCH_MATMUL", six, (2, 2, 2, 2, 3, 5), "float32", options=options),
            Question("BATCH_MATMUL", (floats(2, 3, 4), floats(4)), (2, 3), "float32", options=options),
            Question("BATCH_MATMUL", (floats(4), floats(2, 4, 3)), (2, 3), "float32", options=options),
        ]
    )
    assert replies[0].array.shape == (2, 2, 2, 3, 5)
    assert [answer.result for answer in replies[1:]] == [None, None, None]
    assert all(operand.keep_rank is operand.keep_dims is not None for operand in row("BATCH_MATMUL").operands)


# --- PRELU ------------------------------------------------------------------------------------------------------------


def slopes(x: Given, alpha: Given, scale: float | None) -> list[Question]:
    shape = x.data.shape
    lifted = alpha.reshaped(*(1,) * (len(shape) - alpha.data.ndim), *alpha.data.shape)
    return [
        Question("PRELU", (x, form), shape, x.data.dtype.name, scale, kernels=kernels)
        for kernels in KERNELS
        for form in (alpha, lifted, alpha.stretched(*shape))
    ]


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("alpha", [(4,), (1, 1, 4), (3, 1, 4), ()])
def test_a_lifted_or_stretched_alpha_gives_the_same_bits(dtype: str, alpha: tuple[int, ...]) -> None:
    scale = None if dtype == "float32" else 0.5
    x = floats(2, 3, 2, 4) if scale is None else whole(dtype, 2, 3, 2, 4, scale=scale)
    slope = floats(*alpha) if scale is None else whole(dtype, *alpha, scale=scale)
    replies = ask(slopes(x, slope, scale))
    for first in range(0, len(replies), 3):
        one_result(replies[first : first + 3])


def test_a_stretched_alpha_of_int16_gives_other_values_on_every_kernel_set() -> None:
    """Why alpha's dims are kept: the kernel reads it as int8, whatever the file says."""
    x = Given(-np.arange(1, 25, dtype=np.int16).reshape(2, 3, 4) * 100, 0.5)
    alpha = Given(np.int16([300, 2, 77, 1000]), 0.25)
    replies = ask(slopes(x, alpha, 0.5))
    for first in range(0, len(replies), 3):
        implicit, lifted, stretched = (answer.array for answer in replies[first : first + 3])
        assert implicit.tobytes() == lifted.tobytes() != stretched.tobytes()


def test_alpha_never_stretches_the_input_and_its_kernel_stops_at_rank_8() -> None:
    assert (row("PRELU").style, row("PRELU").onto, row("PRELU").max_rank) == ("unidirectional", 0, 8)
    (operand,) = row("PRELU").operands
    assert operand.index == 1
    assert operand.keep_rank is not None
    assert operand.keep_dims is not None
    eight, nine = ((2,) * rank for rank in (8, 9))
    replies = ask(
        [
            Question("PRELU", (floats(1, 4), floats(3, 4)), (3, 4), "float32"),
            Question("PRELU", (floats(*eight), floats(*(1, 2) * 4)), eight, "float32"),
            Question("PRELU", (floats(*nine), floats(1, *(2, 1) * 4)), nine, "float32"),
        ]
    )
    assert replies[0].error
    assert replies[1].array.shape == eight
    assert replies[2].signal == "SIGABRT"


# --- SELECT, the older one --------------------------------------------------------------------------------------------


def choices(condition: Given, x: Given, y: Given) -> list[Question]:
    return [Question("SELECT", (condition, x, y), x.data.shape, "float32", kernels=kernels) for kernels in KERNELS]


def test_a_rank_1_condition_follows_axis_0_and_a_scalar_all_of_them() -> None:
    x, y = floats(2, 2, 3), floats(2, 2, 3)
    rows_ = Given(np.array([True, False]))
    for answer in ask(choices(rows_, x, y)):
        np.testing.assert_array_equal(answer.array, np.stack([x.data[0], y.data[1]]))
    for answer in ask(choices(Given(np.array(False)), x, y)):
        np.testing.assert_array_equal(answer.array, y.data)
    full = Given(RNG.integers(0, 2, (2, 2, 3)).astype(bool))
    for answer in ask(choices(full, x, y)):
        np.testing.assert_array_equal(answer.array, np.where(full.data, x.data, y.data))


@pytest.mark.parametrize("condition", [(1, 2), (1, 1, 2), (2, 1, 1), (1,), (2, 1)])
def test_a_lifted_or_degenerate_condition_is_refused(condition: tuple[int, ...]) -> None:
    """Why the condition is exempt: SELECT takes neither a lift nor a size of 1."""
    assert row("SELECT").style == "own"
    assert [operand.index for operand in row("SELECT").operands] == [0]
    given = Given(np.resize([True, False], condition))
    assert all(answer.error for answer in ask(choices(given, floats(2, 3, 2), floats(2, 3, 2))))


# --- what needs equal shapes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", [*REFUSED, "ADD_N"])
def test_what_looks_like_a_broadcast_is_refused_where_the_shapes_differ(op: str) -> None:
    assert row(op).style == "equal"
    dtype = "bool" if op == "STABLEHLO_AND" else "float32"
    wide, flat, short = (Given(np.ones(shape, dtype)) for shape in ((2, 3), (1, 3), (3,)))
    pairs = ((wide, wide), (wide, flat), (flat, wide), (wide, short))
    same, *others = ask([Question(op, pair, (2, 3), dtype) for pair in pairs])
    assert same.array.shape == (2, 3)
    assert all(answer.error for answer in others)


def test_add_n_takes_any_number_of_operands() -> None:
    entry = row("ADD_N")
    assert entry.variadic
    assert [operand.index for operand in entry.taking_part(3)] == [0, 1, 2]
    given = Given(np.float32([[1, 2]]))
    assert ask([Question("ADD_N", (given,) * 3, (1, 2), "float32")])[0].array.tolist() == [[3, 6]]


def test_atan2_compares_the_ranks_only() -> None:
    """Unequal sizes run, and read beyond the smaller operand: its first element alone is certain."""
    assert row("ATAN2").style == "equal"
    wide, flat, short = floats(2, 3), floats(2, 1), floats(3)
    replies = ask([Question("ATAN2", (wide, other), (2, 3), "float32") for other in (wide, flat, short)])
    np.testing.assert_allclose(replies[0].array, np.arctan2(wide.data, wide.data), rtol=1e-6)
    assert replies[1].array.shape == (2, 3)
    assert not np.array_equal(replies[1].array, np.arctan2(wide.data, flat.data))
    assert "NumDimensions" in replies[2].error


def test_stablehlo_shift_left_compares_nothing() -> None:
    assert row("STABLEHLO_SHIFT_LEFT").style == "equal"
    wide, short = Given(np.int32([[1, 2, 3], [4, 5, 6]])), Given(np.int32([1]))
    replies = ask([Question("STABLEHLO_SHIFT_LEFT", (wide, other), (2, 3), "int32") for other in (wide, short)])
    assert replies[0].array.tolist() == [[2, 8, 24], [64, 160, 384]]
    assert replies[1].array.shape == (2, 3)


@pytest.mark.parametrize("op", sorted(NO_KERNEL))
def test_what_the_catalogue_says_has_no_kernel_has_none(op: str) -> None:
    operands = (floats(2, 3),) * (3 if op in {"STABLEHLO_SELECT", "STABLEHLO_CLAMP"} else 2)
    for answer in ask([Question(op, operands, (2, 3), "float32", kernels=kernels) for kernels in KERNELS]):
        assert "Didn't find op" in answer.error


def test_broadcast_to_takes_its_shape_literally() -> None:
    """One way: a 1 in the shape does not keep a size, as it does in ONNX's Expand."""
    spelling = operators.stretch_form(TFLITE, "BROADCAST_TO")
    assert spelling is not None
    assert (spelling.by, spelling.two_way) == ("shape", False)
    x = floats(2, 1)
    stretch, keep = (Given(np.int32(shape)) for shape in ([3, 2, 4], [1, 4]))
    replies = ask(
        [
            Question("BROADCAST_TO", (x, stretch), (3, 2, 4), "float32", version=2, kernels=NO_DELEGATE),
            Question("BROADCAST_TO", (x, keep), (2, 4), "float32", version=2, kernels=NO_DELEGATE),
        ]
    )
    np.testing.assert_array_equal(replies[0].array, np.broadcast_to(x.data, (3, 2, 4)))
    assert replies[1].error


def test_tile_repeats_each_axis_by_its_factor() -> None:
    spelling = operators.stretch_form(TFLITE, "TILE")
    assert spelling is not None
    assert (spelling.by, spelling.standard) == ("repeats", True)
    x = floats(2, 1, 3)
    repeats = Given(np.int32([1, 4, 2]))
    for answer in ask([Question("TILE", (x, repeats), (2, 4, 6), "float32", kernels=kernels) for kernels in KERNELS]):
        np.testing.assert_array_equal(answer.array, np.tile(x.data, (1, 4, 2)))


def test_only_these_operators_are_a_stretch_and_nothing_else() -> None:
    assert {(spelling.domain, spelling.op): spelling.by for spelling in operators.stretch_forms()} == {
        ("", "Expand"): "shape",
        ("", "Tile"): "repeats",
        (TFLITE, "BROADCAST_TO"): "shape",
        (TFLITE, "TILE"): "repeats",
        (TFLITE, "STABLEHLO_BROADCAST_IN_DIM"): "axes",
    }
    assert [each.op for each in operators.stretch_forms() if not each.standard] == [
        "Tile",
        "STABLEHLO_BROADCAST_IN_DIM",
    ]
    assert operators.stretch_form("ai.onnx", "Expand") is operators.stretch_form("", "Expand")
    assert operators.stretch_form("", "TILE") is None
    assert operators.stretch_form(TFLITE, "ADD") is None

"""The rewrites of target tosa that are about TFLite's operators: plans only, no format."""

from __future__ import annotations

import pytest

from graphfix.graph.edits import Evaluate, Leave, Lift, New, Numbers, Replace, Restate, Stretch
from graphfix.shapes.dim import Incompatible, Shape, Undecided
from rewrites.tosa import (
    atan2_operands,
    batch_matmul_batch_dims,
    densify_constants,
    prelu_alpha_rank,
    rfft2d_rank,
    select_v1_to_v2,
)
from tests.support.notation import node
from tests.support.tflite.fixing import fixed


def shape(*sizes: int) -> Shape:
    return Shape(sizes)


# --- SELECT ---------------------------------------------------------------------------------------------------------

SELECTS = {
    "a condition of rank 1 follows the first axis": (
        "y[2,3,4] = tflite.SELECT(c:bool[2], a[2,3,4], b[2,3,4])",
        [Lift(0, (1, 2), "GF304")],
    ),
    "a scalar is lifted by all": (
        "y[2,3] = tflite.SELECT(c:bool[], a[2,3], b[2,3])",
        [Lift(0, (0, 1), "GF304")],
    ),
    "a whole condition stays": ("y[2,3] = tflite.SELECT(c:bool[2,3], a[2,3], b[2,3])", []),
}


@pytest.mark.parametrize("case", SELECTS)
def test_a_select_is_named_by_numpys_rule(case: str) -> None:
    text, lifts = SELECTS[case]
    planned = node(text)
    result = planned.results[0]
    assert result is not None
    whole = Replace(New("SELECT_V2", (0, 1, 2), result.shape, "float32"), "GF304")
    assert list(select_v1_to_v2.plan(planned)) == [*lifts, whole]


def test_a_select_of_unknown_rank_is_undecided() -> None:
    with pytest.raises(Undecided):
        list(select_v1_to_v2.plan(node("y[*] = tflite.SELECT(c:bool[2], a[*], b[*])")))


# --- PRELU ----------------------------------------------------------------------------------------------------------


def test_an_alpha_that_is_too_short_is_lifted() -> None:
    text = "y[1,8,8,4] = tflite.PRELU(x[1,8,8,4], a:const[4])"
    assert list(prelu_alpha_rank.plan(node(text))) == [Lift(1, (0, 1), "GF304")]


def test_an_alpha_that_is_too_long_loses_its_unit_axis() -> None:
    text = "y[1,8,8,4] = tflite.PRELU(x[1,8,8,4], a[1,1,1,4])"
    (edit,) = prelu_alpha_rank.plan(node(text))
    assert isinstance(edit, Replace)
    prelu = edit.node
    data, reshape = prelu.operands
    assert isinstance(reshape, New)
    assert (reshape.op, reshape.shape) == ("RESHAPE", shape(1, 1, 4))
    assert reshape.operands == (1, Numbers((1, 1, 4), (3,), "int32"))
    assert (prelu.op, data, prelu.shape) == ("PRELU", 0, shape(1, 8, 8, 4))


def test_a_constant_alpha_that_is_too_long_stays_a_constant() -> None:
    text = "y[1,8,8,4] = tflite.PRELU(x[1,8,8,4], a:const[1,1,1,4])"
    assert list(prelu_alpha_rank.plan(node(text))) == [Restate(1, shape(1, 1, 4), "GF304")]


def test_an_alpha_with_a_batch_of_its_own_is_left() -> None:
    text = "y[2,8,4] = tflite.PRELU(x[2,8,4], a:const[2,1,4])"
    (edit,) = prelu_alpha_rank.plan(node(text))
    assert isinstance(edit, Leave)
    assert (edit.operand, edit.code, edit.status) == (1, "GF304", "left")


def test_an_alpha_of_the_right_rank_stays() -> None:
    assert not list(prelu_alpha_rank.plan(node("y[1,8,4] = tflite.PRELU(x[1,8,4], a:const[1,4])")))


# --- BATCH_MATMUL ---------------------------------------------------------------------------------------------------

PRODUCTS = {
    "equal ranks, one batch of 1": (
        "y[2,3,5] = tflite.BATCH_MATMUL(a[2,3,4], b[1,4,5])",
        [Stretch(1, ((2, 4, 5),), shape(2, 4, 5), axes=("yes",))],
    ),
    "two-sided": (
        "y[6,2,3,5] = tflite.BATCH_MATMUL(a[6,1,3,4], b[2,4,5])",
        [
            Lift(1, (0,)),
            Stretch(0, ((6, 2, 3, 4),), shape(6, 2, 3, 4), axes=("no", "yes")),
            Stretch(1, ((6, 2, 4, 5),), shape(6, 2, 4, 5), axes=("yes", "no")),
        ],
    ),
    "a lower rank with a batch of 1": (
        "y[6,2,3,5] = tflite.BATCH_MATMUL(a[6,2,3,4], b[1,4,5])",
        [Lift(1, (0,)), Stretch(1, ((6, 2, 4, 5),), shape(6, 2, 4, 5), axes=("yes", "yes"))],
    ),
}


@pytest.mark.parametrize("case", PRODUCTS)
def test_batch_axes_are_written_in_full(case: str) -> None:
    text, edits = PRODUCTS[case]
    assert list(batch_matmul_batch_dims.plan(node(text))) == edits


READ_AS_THEY_ARE = [
    "y[2,3,5] = tflite.BATCH_MATMUL(a[2,3,4], b[4,5])",
    "y[2,3,5] = tflite.BATCH_MATMUL(a[3,4], b[2,4,5])",
    "y[6,2,3,5] = tflite.BATCH_MATMUL(a[6,2,3,4], b[2,4,5])",
]


@pytest.mark.parametrize("text", READ_AS_THEY_ARE)
def test_one_operand_of_a_lower_rank_is_left_alone(text: str) -> None:
    (edit,) = batch_matmul_batch_dims.plan(node(text))
    assert isinstance(edit, Leave)
    assert edit.status == "exempt"


def test_equal_batches_are_no_matter() -> None:
    assert not list(batch_matmul_batch_dims.plan(node("y[2,3,5] = tflite.BATCH_MATMUL(a[2,3,4], b[2,4,5])")))


# --- ATAN2 -----------------------------------------------------------------------------------------------------------


def test_an_atan2_is_written_in_full() -> None:
    edits = list(atan2_operands.plan(node("y[2,3] = tflite.ATAN2(a[2,1], b[3])")))
    assert edits == [
        Stretch(0, (1,), shape(2, 3), "GF304"),
        Lift(1, (0,), "GF304"),
        Stretch(1, (0,), shape(2, 3), "GF304"),
    ]


def test_an_atan2_of_equal_shapes_stays() -> None:
    assert not list(atan2_operands.plan(node("y[2,3] = tflite.ATAN2(a[2,3], b[2,3])")))


def test_an_atan2_that_can_not_meet_is_incompatible() -> None:
    with pytest.raises(Incompatible):
        list(atan2_operands.plan(node("y[2,3] = tflite.ATAN2(a[2,3], b[4,3])")))


# --- DENSIFY and RFFT2D ----------------------------------------------------------------------------------------------


def test_a_sparse_constant_is_evaluated() -> None:
    assert list(densify_constants.plan(node("y[2,3] = tflite.DENSIFY(w:const[2,3])"))) == [Evaluate("GF304")]


def test_what_is_no_constant_stays_sparse() -> None:
    assert not list(densify_constants.plan(node("y[2,3] = tflite.DENSIFY(w[2,3])")))


def test_a_cast_of_anything_else_is_no_spectrum() -> None:
    assert not list(rfft2d_rank.plan(node("y[2,3] = tflite.CAST(x:int32[2,3])")))


def test_a_length_is_the_root_of_the_squares_and_inexact() -> None:
    transform = "c:complex64[1,2,4,5] = RFFT2D(x[1,2,4,8], n:const:int32[2]{4,8})"
    fix = fixed(f"{transform}\ny[1,2,4,5] = COMPLEX_ABS(c)", target="tosa")
    assert fix.counts == {"rfft2d-rank": 1}
    assert [line.partition(" = ")[2].partition("(")[0] for line in fix.view] == [
        "RESHAPE", "RFFT2D", "REAL", "MUL", "IMAG", "MUL", "ADD", "SQRT", "RESHAPE",
    ]  # fmt: skip
    (site,) = [site for site in fix.outcome.sites if site.rewrite == "rfft2d-rank"]
    assert site.inexact is not None

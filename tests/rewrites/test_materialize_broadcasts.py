"""What materialize-broadcasts stretches: plans only, no format."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfix.graph.edits import Edit, Leave, Stretch
from graphfix.graph.view import UnrankedOperand
from graphfix.shapes.dim import UNRANKED, Incompatible
from rewrites.broadcasts.materialize_broadcasts import plan
from tests.support.notation import node
from tests.support.shape_dialect import parse


def said(edits: list[Edit]) -> list[tuple[int, object, str, str]]:
    """(operand, by, shape after, code) of stretches: symbols by name, other unknowns as `?`."""
    assert all(isinstance(edit, Stretch) for edit in edits)
    return [(edit.operand, edit.by, str(edit.to), edit.code) for edit in edits if isinstance(edit, Stretch)]


DOES = {
    "y[2,3,4] = Add(x[2,3,4], b[1,1,4])": [(1, (0,), "[2, 3, 4]", "GF102")],
    "y[2,3,4] = Add(x[2,1,4], b[2,3,1])": [(0, (1,), "[2, 3, 4]", "GF102"), (1, (0,), "[2, 3, 4]", "GF102")],
    "y[N,T] = Mul(a[N,1], c[N,T])": [(0, (1,), "[N, T]", "GF102")],
    "y[N,4] = Add(x[N,4], b:const[1,4])": [(1, (0,), "[N, 4]", "GF102")],
    "y[?] = Add(a[N], c[M])": [(0, (1,), "[?]", "GF103"), (1, (0,), "[?]", "GF103")],
    "y[N,8] = Add(a[N,8], c[M,8])": [(0, (1,), "[?, 8]", "GF103"), (1, (0,), "[?, 8]", "GF103")],
    "y[4] = Add(a[N], c[4])": [(0, (1,), "[4]", "GF103")],
    "y[0,3] = Add(a[1,3], c[0,3])": [(0, (1,), "[0, 3]", "GF102")],
    "y[2,3] = Where(c:bool[2,1], x[1,3], z[2,3])": [
        (0, (1,), "[2, 3]", "GF102"),
        (1, (0,), "[2, 3]", "GF102"),
    ],
    "y[2,3] = Sum(a[2,1], b[1,3], c[1,1])": [
        (0, (1,), "[2, 3]", "GF102"),
        (1, (0,), "[2, 3]", "GF102"),
        (2, (0, 1), "[2, 3]", "GF102"),
    ],
    "y[2,4,2,3] = PRelu(x[2,4,2,3], s:const[1,4,1,1])": [(1, (0,), "[2, 4, 2, 3]", "GF102")],
    "y[M,5] = Gemm(a[M,4], b[4,5], c[1,5])": [(2, (((0, 0), (1, 1)),), "[M, 5]", "GF102")],
    "y[M,5] = Gemm(a[4,M], b[5,4], c[1,5], transA=1, transB=1)": [(2, (((0, 1), (1, 0)),), "[M, 5]", "GF102")],
    "y[2,3] = tflite.ADD(a[2,3], b[1,3])": [(1, (0,), "[2, 3]", "GF102")],
    "y[2,3] = tflite.SELECT_V2(c:bool[2,1], a[2,3], b[1,1])": [
        (0, (1,), "[2, 3]", "GF102"),
        (2, (1,), "[2, 3]", "GF102"),
    ],
    # a matrix product: the batch axes of the result, then the operand's own matrix
    "y[8,2,4] = tflite.BATCH_MATMUL(a[8,2,3], b[1,3,4])": [(1, ((8, 3, 4),), "[8, 3, 4]", "GF102")],
    "y[8,2,4] = tflite.BATCH_MATMUL(a[8,2,3], b[1,4,3], adj_y=True)": [(1, ((8, 4, 3),), "[8, 4, 3]", "GF102")],
    "y[5,6,2,4] = tflite.BATCH_MATMUL(a[5,1,2,3], b[1,6,3,4])": [
        (0, ((5, 6, 2, 3),), "[5, 6, 2, 3]", "GF102"),
        (1, ((5, 6, 3, 4),), "[5, 6, 3, 4]", "GF102"),
    ],
    "y[N,2,4] = tflite.BATCH_MATMUL(a[N,2,3], b[1,3,4])": [(1, (((0, 0), 3, 4),), "[N, 3, 4]", "GF102")],
    "y[N,6,T,4] = tflite.BATCH_MATMUL(a[1,6,T,3], b[N,1,3,4])": [
        (0, (((1, 0), 6, (0, 2), 3),), "[N, 6, T, 3]", "GF102"),
        (1, (((1, 0), 6, 3, 4),), "[N, 6, 3, 4]", "GF102"),
    ],
    "y[N,5,2,4] = tflite.BATCH_MATMUL(a[N,5,2,3], b[1,3,4])": [(1, (((0, 0), 5, 3, 4),), "[N, 5, 3, 4]", "GF102")],
    "y[5,N,2,4] = tflite.BATCH_MATMUL(a[5,1,2,3], b[N,3,4])": [
        (0, ((5, (1, 0), 2, 3),), "[5, N, 2, 3]", "GF102"),
        (1, ((5, (1, 0), 3, 4),), "[5, N, 3, 4]", "GF102"),
    ],
    "y[4,2,4] = tflite.BATCH_MATMUL(a[N,2,3], b[4,3,4])": [(0, ((4, 2, 3),), "[4, 2, 3]", "GF103")],
}


@pytest.mark.parametrize(("text", "edits"), DOES.items(), ids=DOES)
def test_every_operand_that_is_repeated_is_stretched(text: str, edits: list[tuple[int, object, str, str]]) -> None:
    assert said(list(plan(node(text)))) == edits


NOTHING = {
    "equal shapes": "y[2,3] = Add(x[2,3], b[2,3])",
    "one symbol on both sides is one size": "y[N,3] = Add(x[N,3], b[N,3])",
    "a 1 under a 1": "y[1,3] = Add(x[1,3], b[1,3])",
    "a 1 gives way to an unknown of no other operand": "y[N] = Neg(x[N])",
    "no row": "y[3] = Relu(x[3])",
    "Expand is a stretch itself": "y[2,3] = Expand(x[1,3], s:const{2,3})",
    "equal batch axes": "y[8,2,4] = tflite.BATCH_MATMUL(a[8,2,3], b[8,3,4])",
    "the matrix axes of a product are no batch": "y[8,1,1] = tflite.BATCH_MATMUL(a[8,1,1], b[8,1,1])",
    "one symbol for both batches": "y[N,2,4] = tflite.BATCH_MATMUL(a[N,2,3], b[N,3,4])",
    "the condition of SELECT follows axis 0": "y[2,3] = tflite.SELECT(c:bool[2], a[2,3], b[2,3])",
    "what needs equal shapes is not repaired": "y[2,3] = tflite.ATAN2(a[2,3], b[2,1])",
    "TILE is a stretch itself": "y[2,3] = tflite.TILE(x[1,3], r:const:int32[2]{2,1})",
}


@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING)
def test_nothing_is_stretched(text: str) -> None:
    assert not [edit for edit in plan(node(text)) if isinstance(edit, Stretch)]


def test_a_range_above_1_proves_that_nothing_is_stretched() -> None:
    text = "y[4] = Add(a[N], c[4])"
    assert len(list(plan(node(text)))) == 1
    assert list(plan(node(text, ranges={"N": (2, 64)}))) == []
    assert len(list(plan(node(text, ranges={"N": (1, 64)})))) == 1


def test_a_1_under_a_range_is_stretched_for_certain() -> None:
    edits = list(plan(node("y[N] = Add(a[1], c[N])", ranges={"N": (2, 64)})))
    assert said(edits) == [(0, (1,), "[N]", "GF102")]


LEFT = {
    "y[2,3] = Pow(x[2,3], e:const[1,1]{2.0})": (1, "fast path"),
    "y[2,3] = Pow(x[2,3], e[1,N])": (1, "fast path"),
    "y[2,3] = tflite.POW(x[2,3], e:const[1,1]{2.0})": (1, "multiplies out"),
    "y[2,3] = tflite.POW(x[2,3], e[1,N])": (1, "multiplies out"),
    "y[1,1] = tflite.POW(x[1,N], e[])": (1, "multiplies out"),
    "y[5,2,3,6] = MatMul(a[5,2,3,4], b[1,2,4,6])": (1, "batch axes"),
    "y[2,3,4] = LayerNormalization(x[2,3,4], s[1,1,4])": (1, "another kernel"),
    "y[2,3,4] = tflite.PRELU(x[2,3,4], a[1,1,4])": (1, "stretches its alpha itself"),
    "y[2,3] = tflite.BATCH_MATMUL(x[2,3,4], v[4])": (1, "no operand of rank 1"),
}


@pytest.mark.parametrize(("text", "expected"), LEFT.items(), ids=LEFT)
def test_an_exempt_operand_is_left_with_its_reason(text: str, expected: tuple[int, str]) -> None:
    (edit,) = plan(node(text))
    assert isinstance(edit, Leave)
    assert (edit.operand, edit.code, edit.status) == (expected[0], "GF102", "exempt")
    assert expected[1] in edit.reason


@pytest.mark.parametrize(
    "text", ["Pow(x[2,3], e[1,3])", "Pow(x[2,3], e[2,1])", "tflite.POW(x[2,3], e[1,3])", "tflite.POW(x[2,3], e[2,1])"]
)
def test_an_exponent_of_several_elements_is_stretched(text: str) -> None:
    assert said(list(plan(node(f"y[2,3] = {text}")))) == [(1, (0,), "[2, 3]", "GF102")]


def test_a_base_is_stretched_beside_an_exponent_that_stays() -> None:
    left, stretched = sorted(plan(node("y[?,3] = tflite.POW(x[N,1], e[1,M])")), key=lambda edit: type(edit).__name__)
    assert isinstance(left, Leave)
    assert left.operand == 1
    assert said([stretched]) == [(0, (1,), "[N, M]", "GF102")]


def test_neither_operand_of_a_power_that_may_be_of_one_element_by_one_is_stretched_to_another_rank() -> None:
    edits = list(plan(node("y[?] = tflite.POW(x[N], e[*])")))
    assert [(type(edit), edit.operand) for edit in edits] == [(Leave, 0), (Leave, 1)]


NINE = "2,1,1,1,1,1,1,1,3"


def test_above_the_runtime_s_limit_each_stretched_operand_is_left_once() -> None:
    """One of lower rank is left by equalize-ranks already, which runs before."""
    text = f"y[{NINE}] = tflite.SELECT_V2(c:bool[3], a[{NINE}], b[1,1,1,1,1,1,1,1,3])"
    (edit,) = plan(node(text))
    assert isinstance(edit, Leave)
    assert (edit.operand, edit.code, edit.status) == (2, "GF301", "left")
    assert "broadcasts SELECT_V2 up to rank 8, and the result has rank 9" in edit.reason


def test_operands_of_one_shape_are_no_finding_whatever_their_rank() -> None:
    assert list(plan(node(f"y[{NINE}] = tflite.ADD(a[{NINE}], b[{NINE}])"))) == []


def test_a_matrix_product_has_a_limit() -> None:
    text = "y[8,1,1,1,2,4] = tflite.BATCH_MATMUL(a[8,1,1,1,2,3], b[1,1,1,1,3,4])"
    assert [(edit.operand, edit.code) for edit in plan(node(text)) if isinstance(edit, Leave)] == [(1, "GF301")]


def test_a_batch_axis_that_is_the_broadcast_of_two_unknown_sizes_is_taken_from_the_other_operand() -> None:
    first, second = (edit for edit in plan(node("y[?,2,4] = tflite.BATCH_MATMUL(a[N,2,3], b[M,3,4])")))
    assert isinstance(first, Stretch)
    assert isinstance(second, Stretch)
    assert (first.by, second.by) == ((((1, 0), 2, 3),), (((0, 0), 3, 4),))
    assert (first.axes, second.axes) == (("maybe",), ("maybe",))


def test_a_batch_axis_of_an_operand_with_fewer_axes_is_counted_from_the_end() -> None:
    edits = [
        edit
        for edit in plan(node("y[K,?,2,4] = tflite.BATCH_MATMUL(a[K,N,2,3], b[M,3,4])"))
        if isinstance(edit, Stretch)
    ]
    assert [(edit.operand, edit.by) for edit in edits] == [
        (0, (((0, 0), (1, 0), 2, 3),)),
        (1, (((0, 0), (0, 1), 3, 4),)),
    ]


def test_operands_of_unknown_rank_get_the_run_time_form() -> None:
    edits = list(plan(node("y[*] = Add(x[*], b[3])")))
    assert [(edit.operand, edit.by, edit.code) for edit in edits if isinstance(edit, Stretch)] == [
        (0, (1,), "GF103"),
        (1, (0,), "GF103"),
    ]
    three = list(plan(node("y[*] = Where(c:bool[*], x[3], z[])")))
    assert [(edit.operand, edit.by) for edit in three if isinstance(edit, Stretch)] == [
        (0, (1,)),  # a scalar stretches nothing
        (1, (0,)),
        (2, (0, 1)),
    ]


def test_the_operand_that_is_broadcast_onto_is_never_expanded() -> None:
    edits = list(plan(node("y[*] = PRelu(x[*], s[3])")))
    assert [(edit.operand, edit.by) for edit in edits if isinstance(edit, Stretch)] == [(1, (0,))]


@pytest.mark.parametrize("text", ["y[*] = PRelu(x[2,3], s[*])", "y[*] = PRelu(x[*], s[*])"])
def test_a_slope_of_unknown_rank_is_expanded_onto_its_input(text: str) -> None:
    edits = list(plan(node(text)))
    assert [(edit.operand, edit.by) for edit in edits if isinstance(edit, Stretch)] == [(1, (0,))]


def test_the_run_time_form_keeps_what_the_catalogue_exempts() -> None:
    (edit,) = plan(node("y[*] = LayerNormalization(x[*], s:const[4])"))
    assert isinstance(edit, Leave)
    assert (edit.operand, edit.code, edit.status) == (1, "GF103", "exempt")


def test_operands_of_one_unranked_name_are_done_already() -> None:
    planned = node("y[*] = Add(x[*], x)")
    assert list(plan(planned)) == []


def test_a_matrix_product_of_unknown_rank_is_undecided() -> None:
    with pytest.raises(UnrankedOperand, match="'a'"):
        list(plan(node("y[*] = MatMul(a[*], b[3,4])")))


def test_sizes_that_never_meet_are_refused() -> None:
    with pytest.raises(Incompatible, match=r"\[2, 3\] and \[4, 3\]"):
        list(plan(node("y[*] = Mul(a[2,3], b[4,3])")))


def test_the_stretched_shape_keeps_the_terms_of_both_names() -> None:
    first, second = plan(node("y[?] = Add(a[N], c[M])"))
    assert isinstance(first, Stretch)
    assert isinstance(second, Stretch)
    assert first.to == second.to
    assert first.to.dims[0].parts == ("M", "N")  # type: ignore[union-attr] -- a named dim, no number
    assert first.to != parse("[?]")


def test_shapes_of_which_nothing_is_known_are_never_taken_for_equal() -> None:
    planned = node("y[*] = Add(x[*], b[*])")
    operands = tuple(replace(value, shape=UNRANKED) for value in planned.operands if value is not None)
    edits = list(plan(planned.reading(operands)))
    assert [(edit.operand, edit.by) for edit in edits if isinstance(edit, Stretch)] == [(0, (1,)), (1, (0,))]

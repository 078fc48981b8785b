"""What equalize-ranks lifts, what it leaves, and what it can't decide: plans only, no format."""

from __future__ import annotations

import pytest
from notation import EXPLICIT, RANKS, node

from graphfix.edits import Leave, Lift, Options
from graphfix.graph import StaleShape, UnrankedOperand, Value
from graphfix.shapes import Incompatible
from rewrites.equalize_ranks import plan

DOES = {
    "y[2,3,4] = Add(x[2,3,4], b:const[4])": [Lift(1, (0, 1))],
    "y[2,3,4] = Add(b[4], x[2,3,4])": [Lift(0, (0, 1))],
    "y[2,3] = Mul(x[2,3], s:const[]{2.0})": [Lift(1, (0, 1))],
    "y[N,T,8] = Sub(x[N,T,8], b[T,8])": [Lift(1, (0,))],
    "y[2,3,4] = Where(c:bool[4], x[3,4], z[2,3,4])": [Lift(0, (0, 1)), Lift(1, (0,))],
    "y[2,3,4] = Max(a[4], b[2,3,4], c[1,4])": [Lift(0, (0, 1)), Lift(2, (0,))],
    "y[2,4,2,3] = PRelu(x[2,4,2,3], s:const[4,1,1])": [Lift(1, (0,))],
    "y[5,2,3,6] = MatMul(a[5,2,3,4], b[2,4,6])": [Lift(1, (0,))],
    "y[2,3,6] = MatMul(a[3,4], b[2,4,6])": [Lift(0, (0,))],
    "y[M,5] = Gemm(a[M,4], b[4,5], c:const[5])": [Lift(2, (0,))],
    "y[4,5] = Gemm(a[3,4], b[3,5], c[5], transA=1)": [Lift(2, (0,))],
    "y[3,5] = Gemm(a[3,4], b[5,4], c:const[]{1.0}, transB=1)": [Lift(2, (0, 1))],
    "y:uint8[2,4] = com.microsoft.QLinearAdd(a:uint8[2,4], s[], z:uint8[], b:uint8[4], s, z, s, z)": [Lift(3, (0,))],
}


@pytest.mark.parametrize(("text", "edits"), DOES.items(), ids=DOES)
def test_operands_get_the_rank_of_the_result(text: str, edits: list[Lift]) -> None:
    assert list(plan(node(text), EXPLICIT)) == edits


NOTHING = {
    "equal ranks": "y[2,3] = Add(x[2,3], b[1,3])",
    "an operator that does not broadcast": "y[3] = Relu(x[3])",
    "the operator has no row at this opset (equal shapes required)": "y[3] = Max(a[3], b[3])",
    "per-axis parameters follow one axis": "y[1,2,3,3] = Conv(x[1,3,3,3], w[2,3,1,1], b[2])",
    "two scalars": "y[] = Add(a[], b[])",
    "a Gemm without C": "y[3,5] = Gemm(a[3,4], b[4,5])",
    "an absent optional operand": "y[2,3] = LayerNormalization(x[2,3], s[2,3], )",
    "legacy nodes are upgraded first": "y[2,3] = Add(x[2,3], b[3], broadcast=1)",
}


@pytest.mark.parametrize(("why", "text"), NOTHING.items(), ids=NOTHING)
def test_nothing_is_lifted(why: str, text: str) -> None:
    opset = {
        "the operator has no row at this opset (equal shapes required)": 7,
        "legacy nodes are upgraded first": 6,
    }
    assert list(plan(node(text, opset=opset.get(why, 18)), EXPLICIT)) == []


LEFT = {
    "y[2,3] = MatMul(a[2,3,4], v[4])": (1, "promoted, not broadcast"),
    "y[2,3,6] = MatMul(a[2,3,4], w:const[4,6])": (1, "packs a constant matrix"),
    "y[2,3,4] = LayerNormalization(x[2,3,4], s:const[4])": (1, "SkipLayerNormalization"),
    "y[2,4] = Einsum(a[2,3], b[3,4], equation='ij,jk->ik')": (None, "the equation says how"),
}


@pytest.mark.parametrize(("text", "expected"), LEFT.items(), ids=LEFT)
def test_an_exempt_operand_is_left_with_its_reason(text: str, expected: tuple[int | None, str]) -> None:
    edits = list(plan(node(text), EXPLICIT))
    assert [(type(edit), edit.operand, edit.code) for edit in edits] == [(Leave, expected[0], "GF101")]
    assert isinstance(edits[0], Leave)
    assert expected[1] in edits[0].reason
    assert edits[0].status == "exempt"


def test_a_lifted_variable_matrix_is_no_packed_weight() -> None:
    assert list(plan(node("y[2,3,6] = MatMul(a[2,3,4], w[4,6])"), EXPLICIT)) == [Lift(1, (0,))]


def test_keep_fusions_leaves_constants_of_rank_0_and_1_only() -> None:
    options = Options(keep_fusions=True)
    for text in ("y[2,3] = Mul(x[2,3], s:const[]{2.0})", "y[2,3] = Add(x[2,3], b:const[3])"):
        (edit,) = plan(node(text), options)
        assert isinstance(edit, Leave)
        assert "--keep-fusions" in edit.reason
    assert list(plan(node("y[2,3] = Add(x[2,3], b[3])"), options)) == [Lift(1, (0,))]
    assert list(plan(node("y[2,3,4] = Add(x[2,3,4], b:const[3,4])"), options)) == [Lift(1, (0,))]


def test_a_rank_that_is_not_known_is_for_the_run_time_form_or_undecided() -> None:
    planned = node("y[*] = Add(x[*], b[3])")
    assert list(plan(planned, EXPLICIT)) == []
    with pytest.raises(UnrankedOperand, match="the rank of 'x' is not known"):
        list(plan(planned, RANKS))
    with pytest.raises(UnrankedOperand):
        list(plan(planned, Options(unknown="keep")))


def test_a_contradicted_shape_is_no_basis() -> None:
    planned = node("y[2,3] = Add(x[2,3], b[3])")
    old = planned.operand(1)
    stale = Value(
        old.name,
        old.shape,
        old.dtype,
        old.kind,
        old.graph,
        "the stored shape [4] contradicts the computed [3]",
    )
    with pytest.raises(StaleShape, match="contradicts"):
        list(plan(planned.reading((planned.operands[0], stale)), EXPLICIT))


def test_sizes_that_never_meet_are_named_all() -> None:
    with pytest.raises(Incompatible, match=r"\[2, 3\], \[3\] and \[4, 3\]"):
        list(plan(node("y[*] = Sum(a[2,3], b[3], c[4,3])"), EXPLICIT))

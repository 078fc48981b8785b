"""What equalize-ranks lifts, what it leaves, and what it can't decide: plans only, no format."""

from __future__ import annotations

import pytest

from graphfix.graph.edits import Leave, Lift
from graphfix.graph.view import StaleShape, Value
from graphfix.shapes.dim import Incompatible
from rewrites.broadcasts.equalize_ranks import plan
from tests.support.notation import node

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
    "y[2,3] = tflite.ADD(a[2,3], b:const[3])": [Lift(1, (0,))],
    "y[N,3] = tflite.POW(x[N,3], e[])": [Lift(1, (0, 1))],
    "y[2,N] = tflite.POW(x[N], e[2,1])": [Lift(0, (0,))],
    "y[1] = Pow(x[1], e[])": [Lift(1, (0,))],
    "y[N,3] = Pow(x[N,3], e[])": [Lift(1, (0, 1))],
    "y[N,3,1] = Pow(x[N,3,1], e[1,1])": [Lift(1, (0,))],
    "y[2,N] = Pow(x[2,N], e:const[1]{2.0})": [Lift(1, (0,))],
    "y[2,3,4] = tflite.SELECT_V2(c:bool[], x[2,3,4], z[4])": [Lift(0, (0, 1, 2)), Lift(2, (0, 1))],
    "y[5,2,3,6] = tflite.BATCH_MATMUL(a[5,2,3,4], b:const[4,6])": [Lift(1, (0, 1))],
    "y[1,1,1,1,1,1,1,8] = tflite.MUL(a[1,1,1,1,1,1,1,8], b[8])": [Lift(1, tuple(range(7)))],
}


@pytest.mark.parametrize(("text", "edits"), DOES.items(), ids=DOES)
def test_operands_get_the_rank_of_the_result(text: str, edits: list[Lift]) -> None:
    assert list(plan(node(text))) == edits


NOTHING = {
    "equal ranks": "y[2,3] = Add(x[2,3], b[1,3])",
    "an operator that does not broadcast": "y[3] = Relu(x[3])",
    "the operator has no row at this opset (equal shapes required)": "y[3] = Max(a[3], b[3])",
    "per-axis parameters follow one axis": "y[1,2,3,3] = Conv(x[1,3,3,3], w[2,3,1,1], b[2])",
    "two scalars": "y[] = Add(a[], b[])",
    "a Gemm without C": "y[3,5] = Gemm(a[3,4], b[4,5])",
    "an absent optional operand": "y[2,3] = LayerNormalization(x[2,3], s[2,3], )",
    "attention without a mask": "y[2,3,8] = com.microsoft.MultiHeadAttention(q[2,3,8], k[2,3,8], v[2,3,8], , , )",
    "legacy nodes are upgraded first": "y[2,3] = Add(x[2,3], b[3], broadcast=1)",
    "TFLite: a bias is a per-axis parameter": "y[2,3] = tflite.FULLY_CONNECTED(x[2,4], w[3,4], b[3])",
    "TFLite: the condition has the operands' shape": "y[2,3] = tflite.SELECT(c:bool[2,3], x[2,3], z[2,3])",
    "TFLite: equal shapes, and equal shapes it needs": "y[2,3] = tflite.ATAN2(x[2,3], z[2,3])",
    "TFLite: sizes that may be equal": "y[N,3] = tflite.ATAN2(x[N,3], z[M,3])",
    "TFLite: a rank that may be equal": "y[*] = tflite.STABLEHLO_ADD(x[*], z[M,3])",
    "TFLite: a scalar bound that has its operand's shape": "y[] = tflite.STABLEHLO_CLAMP(l[], x[], h[])",
    "equal ranks above the limit": "y[1,1,1,1,1,1,1,1,2] = tflite.ADD(a[1,1,1,1,1,1,1,1,2], b[1,1,1,1,1,1,1,1,2])",
    "a stretch of StableHLO is no broadcast": "y[2,3] = tflite.STABLEHLO_BROADCAST_IN_DIM(x[3])",
}


@pytest.mark.parametrize(("why", "text"), NOTHING.items(), ids=NOTHING)
def test_nothing_is_lifted(why: str, text: str) -> None:
    opset = {
        "the operator has no row at this opset (equal shapes required)": 7,
        "legacy nodes are upgraded first": 6,
    }
    assert list(plan(node(text, opset=opset.get(why, 18)))) == []


LEFT = {
    "y[2,3] = MatMul(a[2,3,4], v[4])": (1, "promoted, not broadcast"),
    "y[2,3,6] = MatMul(a[2,3,4], w:const[4,6])": (1, "packs a constant matrix"),
    "y[2,3,4] = LayerNormalization(x[2,3,4], s:const[4])": (1, "SkipLayerNormalization"),
    "y[2,4] = Einsum(a[2,3], b[3,4], equation='ij,jk->ik')": (None, "the equation says how"),
    "y[2,3,8] = com.microsoft.MultiHeadAttention(q[2,3,8], k[2,3,8], v[2,3,8], , , m[3,3])": (None, "attention mask"),
    "y[2,3,4] = tflite.PRELU(x[2,3,4], a:const[1,4])": (1, "one rank below its input"),
    "y[2,3] = tflite.SELECT(c:bool[2], x[2,3], z[2,3])": (0, "follows axis 0"),
    "y[*] = tflite.SELECT(c:bool[2], x[*], z[*])": (0, "follows axis 0"),
    "y[2,3] = tflite.STABLEHLO_SELECT(c:bool[], x[2,3], z[2,3])": (0, "scalar by definition"),
    "y[2,3] = tflite.STABLEHLO_CLAMP(l[], x[2,3], h[2,3])": (0, "scalar by definition"),
    "y[2,3] = tflite.BATCH_MATMUL(x[2,3,4], v[4])": (1, "no operand of rank 1"),
    "y[N,1] = Pow(x[N,1], e[])": (1, "another routine"),
    "y[1] = tflite.POW(x[1], e[])": (1, "only where their ranks differ"),
    "y[N,1] = tflite.POW(x[1], e[N,1])": (0, "only where their ranks differ"),
}


@pytest.mark.parametrize(("text", "expected"), LEFT.items(), ids=LEFT)
def test_an_exempt_operand_is_left_with_its_reason(text: str, expected: tuple[int | None, str]) -> None:
    edits = list(plan(node(text)))
    assert [(type(edit), edit.operand, edit.code) for edit in edits] == [(Leave, expected[0], "GF101")]
    assert isinstance(edits[0], Leave)
    assert expected[1] in edits[0].reason
    assert edits[0].status == "exempt"


NINE = "2,1,1,1,1,1,1,1,3"
LIMITED = {
    f"y[{NINE}] = tflite.ADD(a[{NINE}], b[3])": [(1, "tflite", "ADD up to rank 8, and the result has rank 9")],
    f"y[{NINE}] = tflite.SELECT_V2(c:bool[], a[{NINE}], b[3])": [
        (0, "tflite", "SELECT_V2 up to rank 8"),
        (2, "tflite", "SELECT_V2 up to rank 8"),
    ],
    "y[1,1,1,2,3,5] = tflite.BATCH_MATMUL(a[1,1,1,2,3,4], b[4,5])": [(1, "tflite", "up to rank 5")],
}


@pytest.mark.parametrize(("text", "expected"), LIMITED.items(), ids=LIMITED)
def test_a_result_of_more_axes_than_the_runtime_broadcasts_is_left_as_a_finding(
    text: str, expected: list[tuple[int, str, str]]
) -> None:
    planned = node(text)
    for edit, (operand, domain, reason) in zip(plan(planned), expected, strict=True):
        assert planned.domain == domain
        assert isinstance(edit, Leave)
        assert (edit.operand, edit.code, edit.status) == (operand, "GF301", "left")
        assert reason in edit.reason


def test_onnx_rows_with_a_limit_lift_up_to_it() -> None:
    skip = "y[2,3,4] = com.microsoft.SkipLayerNormalization(x[2,3,4], s[3,4], g[4])"
    assert list(plan(node(skip))) == [Lift(1, (0,))]
    assert list(plan(node("y[3,5] = Gemm(a[3,4], b[4,5], c[])"))) == [Lift(2, (0, 1))]


DIFFER = {
    "y[2,3] = tflite.ATAN2(x[2,3], z[2,1])": [(1, "[2, 3] and [2, 1] differ: ATAN2 has no broadcast")],
    "y[2,3] = tflite.ATAN2(x[2,3], z[3])": [(1, "reads beyond")],
    "y[2,3] = tflite.ADD_N(a[2,3], b[2,3], c[1,3])": [(2, "refuses operands of different shapes")],
    "y[2,3] = tflite.STABLEHLO_ADD(a[], b[2,3])": [(1, "no implicit broadcast")],
    "y[2,3] = tflite.STABLEHLO_SHIFT_LEFT(a[2,3], b[3])": [(1, "reads beyond")],
    "y[N,3] = tflite.STABLEHLO_COMPARE(a[N,3], b[N,1])": [(1, "no implicit broadcast")],
}


@pytest.mark.parametrize(("text", "expected"), DIFFER.items(), ids=DIFFER)
def test_a_look_alike_whose_shapes_differ_for_certain_is_a_finding(text: str, expected: list[tuple[int, str]]) -> None:
    edits = list(plan(node(text)))
    assert [(type(edit), edit.operand, edit.code) for edit in edits] == [(Leave, at, "GF105") for at, _ in expected]
    for edit, (_, reason) in zip(edits, expected, strict=True):
        assert isinstance(edit, Leave)
        assert edit.status == "left"
        assert reason in edit.reason


def test_a_contradicted_shape_does_not_make_a_look_alike_differ() -> None:
    planned = node("y[2,3] = tflite.ATAN2(x[2,3], z[2,1])")
    old = planned.operand(1)
    stale = Value(old.name, old.shape, old.dtype, old.kind, old.graph, "the stored shape contradicts the computed one")
    assert list(plan(planned.reading((planned.operands[0], stale)))) == []


def test_a_lifted_variable_matrix_is_no_packed_weight() -> None:
    assert list(plan(node("y[2,3,6] = MatMul(a[2,3,4], w[4,6])"))) == [Lift(1, (0,))]


def test_a_rank_that_is_not_known_is_for_the_run_time_form() -> None:
    assert list(plan(node("y[*] = Add(x[*], b[3])"))) == []


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
        list(plan(planned.reading((planned.operands[0], stale))))


def test_sizes_that_never_meet_are_named_all() -> None:
    with pytest.raises(Incompatible, match=r"\[2, 3\], \[3\] and \[4, 3\]"):
        list(plan(node("y[*] = Sum(a[2,3], b[3], c[4,3])")))

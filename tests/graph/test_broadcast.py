"""How the operands of each style of row meet: who takes part, what they are aligned to, which axes are repeated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfix.graph.broadcast import (
    _ends_in_ones,
    align,
    align_anyhow,
    align_at_run_time,
    exemption,
    has_ranks,
    is_run_time_form,
    over_limit,
    product_axes,
    taking_part,
)
from graphfix.graph.view import UnrankedOperand
from graphfix.operators.row import Exempt
from graphfix.shapes.dim import Incompatible, Shape, Undecided
from tests.support import engine
from tests.support.notation import model, node

N, Y, M = "no", "yes", "maybe"

STYLES = {
    # text: (result of the aligned axes, rank, {operand: per axis})
    "y[2,3,4] = Add(x[2,3,4], b[4])": ("[2, 3, 4]", 3, {0: (N, N, N), 1: (Y, Y, N)}),
    "y[2,3] = Add(x[2,1], b[1,3])": ("[2, 3]", 2, {0: (N, Y), 1: (Y, N)}),
    "y[N,3] = Add(x[N,3], b[3])": ("[N, 3]", 2, {0: (N, N), 1: (Y, N)}),
    "y[?] = Add(x[N], b[M])": ("[?]", 1, {0: (M,), 1: (M,)}),
    "y[4] = Add(x[N], b[4])": ("[4]", 1, {0: (M,), 1: (N,)}),
    "y[0,3] = Mul(x[0,1], b[1,3])": ("[0, 3]", 2, {0: (N, Y), 1: (Y, N)}),
    "y[2,3,4] = Max(a[4], b[2,1,4], c[3,1])": ("[2, 3, 4]", 3, {0: (Y, Y, N), 1: (N, Y, N), 2: (Y, N, Y)}),
    "y[3] = Sum(a[3])": ("[3]", 1, {0: (N,)}),
    "y[2,3,4] = PRelu(x[2,3,4], s[3,1])": ("[2, 3, 4]", 3, {1: (Y, N, Y)}),
    "y[2,3,4] = LayerNormalization(x[2,3,4], s[4], b[4])": ("[2, 3, 4]", 3, {1: (Y, Y, N), 2: (Y, Y, N)}),
    "y[7,2,3,6] = MatMul(a[7,2,3,4], b[2,4,6])": ("[7, 2]", 4, {0: (N, N), 1: (Y, N)}),
    "y[2,3] = MatMul(a[2,3,4], v[4])": ("[2]", 3, {0: (N,), 1: (Y,)}),
    "y[] = MatMul(u[4], v[4])": ("[]", 1, {0: (), 1: ()}),
    "y[6] = MatMul(u[4], b[4,6])": ("[]", 2, {0: (), 1: ()}),
    "y[M,5] = Gemm(a[M,4], b[4,5], c[5])": ("[M, 5]", 2, {2: (Y, N)}),
    "y[4,5] = Gemm(a[3,4], b[5,3], c[4,1], transA=1, transB=1)": ("[4, 5]", 2, {2: (N, Y)}),
    "y[M,5] = Gemm(a[M,4], b[4,5], c[N,5])": ("[M, 5]", 2, {2: (M, N)}),
    "y:uint8[2,4] = com.microsoft.QLinearAdd(a:uint8[2,4], s[], z:uint8[], b:uint8[4], s, z, s, z)": (
        "[2, 4]",
        2,
        {0: (N, N), 3: (Y, N)},
    ),
}


@pytest.mark.parametrize(("text", "expected"), STYLES.items(), ids=STYLES)
def test_operands_are_aligned_as_their_style_says(
    text: str, expected: tuple[str, int, dict[int, tuple[str, ...]]]
) -> None:
    alignment = align(node(text))
    assert alignment is not None
    result, rank, stretched = expected
    assert (str(alignment.result), alignment.rank) == (result, rank)
    assert {operand.index: alignment.stretches(operand) for operand in alignment.operands} == stretched


NOBODY = {
    "y[2] = Relu(x[2])": "no row",
    "y[2,3] = Expand(x[3], s:const{2,3})": "an own rule",
    "y[2,4] = Einsum(a[2,3], b[3,4], equation='ij,jk->ik')": "an own rule",
    "y[3,5] = Gemm(a[3,4], b[4,5])": "the operand that takes part is absent",
    "y[2,3] = com.microsoft.SkipLayerNormalization(, b[1,3], g[3])": "what they broadcast onto is absent",
    "y[2,3] = tflite.ATAN2(a[2,3], b[2,1])": "equal shapes are needed",
    "y[2,3] = tflite.SELECT(c:bool[2], a[2,3], b[2,3])": "an own rule of TFLite's",
}


@pytest.mark.parametrize("text", NOBODY, ids=NOBODY.values())
def test_nobody_takes_part(text: str) -> None:
    planned = node(text)
    assert align(planned) is None
    assert has_ranks(planned)
    assert list(taking_part(planned)) == []


def test_legacy_nodes_are_not_aligned_by_numpys_rule() -> None:
    assert align(node("y[2,3] = Add(x[2,3], b[2], broadcast=1, axis=0)", opset=6)) is None


REFUSED = {
    "y[*] = Add(a[2,3], b[4,3])": r"\[2, 3\] and \[4, 3\] do not broadcast",
    "y[*] = Max(a[2,1], b[1,3], c[3,1])": r"\[2, 1\], \[1, 3\] and \[3, 1\]",
    "y[*] = MatMul(a[2,3,4], b[5,4,6])": r"the batch axes of \[2, 3, 4\] and \[5, 4, 6\] do not broadcast",
    "y[*] = Gemm(a[2,3,4], b[4,5], c[5])": "no matrices",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=REFUSED)
def test_sizes_that_never_meet_are_incompatible(text: str, message: str) -> None:
    with pytest.raises(Incompatible, match=message):
        align(node(text))


UNDECIDED = {
    "y[*] = PRelu(x[3], s[2,3])": "does not broadcast onto",
    "y[*] = PRelu(x[1,3], s[2,3])": "does not broadcast onto",
    "y[*] = Gemm(a[3,4], b[4,5], c[1,1,5])": "does not broadcast onto",
}


@pytest.mark.parametrize(("text", "message"), UNDECIDED.items(), ids=UNDECIDED)
def test_an_operand_that_is_larger_than_what_it_meets_is_undecided(text: str, message: str) -> None:
    with pytest.raises(Undecided, match=message):
        align(node(text))


SUMS_NOTHING = {
    "y[*] = MatMul(a[3,0], b[2,0,5])": True,
    "y[*] = MatMul(a[3,N], b[2,0,5])": True,
    "y[*] = MatMul(a[3,0], b[2,N,5])": True,
    "y[*] = MatMul(a[1,3,0], b[2,0,5])": True,
    "y[*] = com.microsoft.FusedMatMul(a[0,3], b[2,0,5], transA=1)": True,
    "y[*] = com.microsoft.FusedMatMul(a[3,N], b[2,5,0], transB=1)": True,
    "y[2,3] = MatMul(a[2,3,0], b[0])": False,
    "y[2,3,5] = MatMul(a[2,3,0], b[2,0,5])": False,
    "y[2,0,5] = MatMul(a[0,4], b[2,4,5])": False,
    "y[2,3,0] = MatMul(a[3,4], b[2,4,0])": False,
    "y[] = MatMul(a[0], b[0])": False,
    "y[2,3,5] = tflite.BATCH_MATMUL(a[3,0], b[2,0,5])": False,
}


@pytest.mark.parametrize(("text", "undecided"), SUMS_NOTHING.items(), ids=SUMS_NOTHING)
def test_a_product_of_onnx_that_sums_over_nothing_keeps_its_operands(text: str, undecided: bool) -> None:
    if undecided:
        with pytest.raises(Undecided, match="keeps the batch of operand 0"):
            align(node(text))
    else:
        assert align(node(text)) is not None


@pytest.mark.parametrize("text", ["y[*] = Add(x[*], b[3])", "y[*] = MatMul(a[*], b[3,4])", "y[*] = PRelu(x[*], s[3])"])
def test_a_rank_that_is_not_known_is_undecided(text: str) -> None:
    with pytest.raises(UnrankedOperand, match="is not known"):
        align(node(text))


@pytest.mark.parametrize(
    ("text", "axes"),
    [
        ("y[3,5] = Gemm(a[3,4], b[4,5], c[5])", ((0, 0), (1, 1))),
        ("y[4,5] = Gemm(a[3,4], b[3,5], c[5], transA=1)", ((0, 1), (1, 1))),
        ("y[3,5] = Gemm(a[3,4], b[5,4], c[5], transB=1)", ((0, 0), (1, 0))),
    ],
)
def test_m_and_n_of_a_gemm_come_from_these_axes(text: str, axes: tuple[tuple[int, int], ...]) -> None:
    assert product_axes(node(text)) == axes


ONES = "1," * 63
LIMITS = {
    f"y[{ONES}1,2] = Add(a[{ONES}1,2], b[2])": "the result has rank 65",
    f"y[{ONES}2] = Add(a[{ONES}2], b[2])": None,
    "y[1,1,1,1,1,1,1,1,2] = tflite.ADD(a[1,1,1,1,1,1,1,1,2], b[2])": "ADD up to rank 8, and the result has rank 9",
    "y[1,1,1,1,1,1,1,2] = tflite.ADD(a[1,1,1,1,1,1,1,2], b[2])": None,
    "y[1,1,1,1,1,1,1,1,2] = Add(a[1,1,1,1,1,1,1,1,2], b[2])": None,
    "y[1,1,1,1,2,3] = tflite.BATCH_MATMUL(a[1,1,1,1,2,5], b[5,3])": "up to rank 5, and the result has rank 6",
    "y[1,1,1,2,3] = tflite.BATCH_MATMUL(a[1,1,1,2,5], b[5,3])": None,
    "y[3,5] = Gemm(a[3,4], b[4,5], c[5])": None,
}


@pytest.mark.parametrize(("text", "reason"), LIMITS.items(), ids=LIMITS)
def test_the_rank_of_the_result_counts_against_the_runtime_s_limit(text: str, reason: str | None) -> None:
    planned = node(text)
    alignment = align(planned)
    assert alignment is not None
    exceeded = over_limit(planned, alignment)
    assert exceeded is None if reason is None else exceeded is not None and reason in exceeded


def test_the_matrix_of_a_product_s_operand_is_not_aligned() -> None:
    alignment = align(node("y[7,2,3,6] = tflite.BATCH_MATMUL(a[7,2,3,4], b[2,4,6])"))
    assert alignment is not None
    assert [(str(operand.shape), operand.matrix) for operand in alignment.operands] == [
        ("[7, 2]", (3, 4)),
        ("[2]", (4, 6)),
    ]
    plain = align(node("y[2,3] = Add(a[2,3], b[3])"))
    assert plain is not None
    assert [operand.matrix for operand in plain.operands] == [(), ()]


def test_exemptions_ask_for_the_operand_itself() -> None:
    one = Exempt("one", "one element")
    weight = Exempt("weight", "constant of rank 2")
    vector = Exempt("vector", "rank 1", weight)

    def reason(operand: str, why: Exempt | None) -> str | None:
        alignment = align(node(f"y[2,3] = Add(x[2,3], {operand})"))
        assert alignment is not None
        return exemption(alignment, alignment.operands[1], why)

    assert reason("b[1,1]", one) == "one"
    assert reason("b[]", one) == "one"
    assert reason("b[N,1]", one) == "one"  # unless N is more
    assert reason("b[N,3]", one) is None
    assert reason("b[2,1]", one) is None
    assert reason("b:const[2,3]", vector) == "weight"
    assert reason("b[2,3]", vector) is None
    assert reason("b[3]", vector) == "vector"
    assert reason("b[3]", None) is None


@pytest.mark.parametrize(
    ("operands", "each", "under"),
    [
        ("x[], b[]", False, False),
        ("x[1], b[]", True, False),
        ("x[N], b[]", True, False),
        ("x[2], b[]", False, False),
        ("x[2,1], b[]", False, True),
        ("x[N,1], b[]", True, True),
        ("x[N,M], b[]", True, False),
        ("x[1,2], b[]", False, False),
        ("x[2,3,1], b[1,1]", False, False),
        ("x[2,1,1], b[1,1]", False, True),
        ("x[2,1,1], b[N,1]", False, False),  # as many as N
        ("x[2,1,1], b[3,1]", False, False),
        ("x[2,1], b[1,1]", False, False),
        ("x[N,1], b[1,M]", False, False),
        ("x[N], b[*]", True, False),
        ("x[*], b[2]", False, False),
    ],
)
def test_exemptions_ask_how_the_operands_meet(operands: str, each: bool, under: bool) -> None:
    given = node(f"y[*] = Pow({operands})")
    alignment = align(given) if has_ranks(given) else align_at_run_time(given)
    assert alignment is not None
    exponent = alignment.operands[1]
    assert (exemption(alignment, exponent, Exempt("each", "one element each")) is not None) == each
    assert (exemption(alignment, exponent, Exempt("under", "one element under ones")) is not None) == under


@pytest.mark.parametrize(
    ("operands", "by"),
    [
        ("y[N,1,1], a[N,1,1], b[1,M,1], c[1,1,K]", (2, 3)),  # of a's size already
        ("y[1,1], a[M,1], b[M,1], c[1,K]", (1, 2, 3)),  # either may be the one that is not 1
        ("y[K], a[1,M,1], b[1,1,K], c[P,1,1]", (1, 3)),  # of a lower rank
        ("y[K], a[1,M,1], b[1,M,1], c[P,1,1]", (1, 2, 3)),  # its axes in front are 1
        ("y[1,1,K], a[1], b[1,M,1], c[P,1,1]", (2, 3)),  # of a higher one
        ("y[L,1,1], a[P,1,1], b[1,M,1], c[1,1,K]", (2, 3)),  # never 1: nothing stretches it
    ],
)
def test_an_operand_is_stretched_by_those_that_may_repeat_it(operands: str, by: tuple[int, ...]) -> None:
    about = node(f"z[*] = Sum({operands})", ranges={"L": (2, 9)})
    alignment = align_anyhow(about)
    assert alignment is not None
    assert alignment.run_time_shape(alignment.operands[0])[0] == by


def test_where_no_rank_is_known_each_operand_that_adds_a_name_stretches() -> None:
    about = node("z[*] = Sum(a[*], b[*], c[*])")
    names = [("?a",), ("?b",), ("?b", "?c")]
    given = tuple(replace(about.operand(at), shape=Shape(None, parts)) for at, parts in enumerate(names))
    alignment = align_anyhow(replace(about, operands=given))
    assert alignment is not None
    assert alignment.run_time_shape(alignment.operands[0]) == ((1, 2), Shape(None, ("?a", "?b", "?c")))


@pytest.mark.parametrize(
    ("shape", "under", "said"),
    [
        (Shape((3, 1)), Shape((1,)), True),
        (Shape((3, 1)), Shape(()), True),
        (Shape((3, 1)), Shape((1, 1)), False),
        (Shape((3, 1, 1)), Shape((1, 1)), True),
        (Shape((3, 2, 1)), Shape((1, 1)), False),
        (Shape((3, 2)), Shape(()), False),
        (Shape((1, 1)), Shape((1,)), False),
        (Shape(None), Shape((1,)), False),
        (Shape((3, 1)), Shape(None), False),
    ],
)
def test_a_shorter_shape_may_stand_under_ones_alone(shape: Shape, under: Shape, said: bool) -> None:
    assert _ends_in_ones(shape, under) == said


@pytest.mark.parametrize(
    ("text", "implicit"),
    [
        ("y[2,3] = Add(x[2,3], b[3])", [False, True]),
        ("y[2,3] = Add(x[2,3], b[1,3])", [False, True]),
        ("y[1,3] = Add(x[1,3], b[3])", [False, True]),
        ("y[2,3] = Add(x[2,1], b[1,3])", [True, True]),
        ("y[2,3] = Add(x[2,3], b[2,3])", [False, False]),
        ("y[?] = Add(x[N], b[M])", [True, True]),
        ("y[2,1,3,4] = Max(x[2,1,3,4], b[3,4], c[1,1,1,1])", [False, True, True]),
    ],
)
def test_an_operand_is_implicit_where_the_operator_lifts_or_stretches_it(text: str, implicit: list[bool]) -> None:
    alignment = align(node(text))
    assert alignment is not None
    assert [alignment.is_implicit(operand) for operand in alignment.operands] == implicit


STACKS: dict[str, list[tuple[object, str]]] = {
    "y[*] = MatMul(a[B,1,3,4], b[H,4,5])": [
        ((((0, 0), (1, 0), 3, 4),), "[B, H, 3, 4]"),
        ((((0, 0), (1, 0), 4, 5),), "[B, H, 4, 5]"),
    ],
    "y[*] = MatMul(a[B,1,T,4], b[H,4,S])": [
        ((((0, 0), (1, 0), (0, 2), 4),), "[B, H, T, 4]"),
        ((((0, 0), (1, 0), 4, (1, 2)),), "[B, H, 4, S]"),
    ],
    "y[*] = MatMul(a[N,3,4], b[M,4,5])": [((((1, 0), 3, 4),), "[?, 3, 4]"), ((((0, 0), 4, 5),), "[?, 4, 5]")],
    "y[*] = MatMul(a[N,K,3,4], b[M,4,5])": [
        ((((0, 0), (1, 0), 3, 4),), "[N, ?, 3, 4]"),
        ((((0, 0), (0, 1), 4, 5),), "[N, ?, 4, 5]"),
    ],
    "y[*] = MatMul(a[2,1,3,4], b[7,4,5])": [(((2, 7, 3, 4),), "[2, 7, 3, 4]"), (((2, 7, 4, 5),), "[2, 7, 4, 5]")],
    "y[*] = MatMul(a[B,3,4], b[4,5])": [((((0, 0), 3, 4),), "[B, 3, 4]"), ((((0, 0), 4, 5),), "[B, 4, 5]")],
}


@pytest.mark.parametrize(("text", "found"), STACKS.items(), ids=STACKS)
def test_a_matrix_of_a_product_is_repeated_by_the_axes_that_have_the_sizes(
    text: str, found: list[tuple[object, str]]
) -> None:
    alignment = align_anyhow(node(text))
    assert alignment is not None
    shapes = [alignment.run_time_shape(operand) for operand in alignment.operands]
    assert [(by, str(shape)) for by, shape in shapes] == found


RUN_TIME: dict[str, tuple[str, bool]] = {
    "a run-time shape": ("s:int64[*] = Shape(x[*]); y[*] = Expand(z[3], s)", True),
    "a computed shape": ("s:int64[*] = Concat(p:int64[*], p, axis=0); y[*] = Expand(z[3], s)", False),
    "a given shape": ("y[*] = Expand(z[3], s:int64[*])", False),
    "a known rank": ("s:int64[*] = Shape(x[2,3]); y[*] = Expand(z[3], s)", False),
    "another domain": ("s:int64[*] = Shape(x[*]); y[*] = own.Expand(z[3], s)", False),
    "repeats": ("s:int64[*] = Shape(x[*]); y[*] = Tile(z[*], s)", False),
    "a shape of another domain": ("s:int64[*] = own.Shape(x[*]); y[*] = Expand(z[3], s)", False),
}


@pytest.mark.parametrize(("text", "such"), RUN_TIME.values(), ids=RUN_TIME)
def test_the_run_time_form_takes_the_shape_of_a_value_of_unknown_rank(text: str, *, such: bool) -> None:
    *_, last = engine.load(model(text.replace("; ", "\n"))).graphs[0].nodes
    assert is_run_time_form(last) is such

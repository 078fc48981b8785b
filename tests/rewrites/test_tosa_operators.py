"""The rewrites of target tosa that are about TFLite's operators: plans only, no format."""

from __future__ import annotations

import pytest

import graphfix
from graphfix.graph.edits import Evaluate, Leave, Lift, New, Numbers, Replace, Restate, Stretch
from graphfix.graph.view import Node
from graphfix.shapes.dim import Incompatible, Shape, Undecided
from models.builders.tflite.text import model as tflite
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


def written(source: object) -> str:
    """A new node and what it reads, without the numbers of a RESHAPE; its own operands by name."""
    if not isinstance(source, New):
        return str(source).partition("[")[0]
    reads = source.operands[:1] if source.op == "RESHAPE" else source.operands
    made = f"{source.op}{source.shape}".replace(", ", ",")
    return f"{made}({','.join(map(written, reads))})" if source.op != "RFFT2D" else f"{made}({written(reads[0])})"


SPECTRUM = "c:complex64[{bins}] = RFFT2D(x[{source}], n:const:int32[2]{{4,8}})\n"
PARTS = {
    "the real part": ("4,4,8", "4,4,5", "REAL", "", None),
    "the imaginary part": ("4,4,8", "4,4,5", "IMAG", "", None),
    "a cast": ("3,4,8", "3,4,5", "CAST", "", "REAL[3,4,5](RFFT2D[3,4,5](RESHAPE[3,4,8](x)))"),
    "a lower rank": ("4,8", "4,5", "IMAG", "", "RESHAPE[4,5](IMAG[1,4,5](RFFT2D[1,4,5](RESHAPE[1,4,8](x))))"),
    "a higher rank": (
        "2,3,4,8",
        "2,3,4,5",
        "REAL",
        "",
        "RESHAPE[2,3,4,5](REAL[6,4,5](RFFT2D[6,4,5](RESHAPE[6,4,8](x))))",
    ),
    "behind a reshape": (
        "2,3,4,8",
        "2,3,4,5",
        "CAST",
        "v:complex64[3,2,4,5] = RESHAPE(c, s:const:int32[4]{3,2,4,5})\n",
        "RESHAPE[3,2,4,5](REAL[6,4,5](RFFT2D[6,4,5](RESHAPE[6,4,8](x))))",
    ),
    "behind two of them": (
        "1,4,8",
        "1,4,5",
        "CAST",
        "u:complex64[4,5] = SQUEEZE(c, squeeze_dims=[0])\nv:complex64[4,1,5] = EXPAND_DIMS(u, a:const:int32[]{1})\n",
        "RESHAPE[4,1,5](REAL[1,4,5](RFFT2D[1,4,5](RESHAPE[1,4,8](x))))",
    ),
    "behind something else": ("4,4,8", "4,4,5", "CAST", "v:complex64[4,4,5] = NEG(c)\n", None),
    "a length": (
        "3,4,8",
        "3,4,5",
        "COMPLEX_ABS",
        "",
        (
            "SQRT[3,4,5](ADD[3,4,5]("
            "MUL[3,4,5](REAL[3,4,5](RFFT2D[3,4,5](RESHAPE[3,4,8](x))),REAL[3,4,5](RFFT2D[3,4,5](RESHAPE[3,4,8](x)))),"
            "MUL[3,4,5](IMAG[3,4,5](RFFT2D[3,4,5](RESHAPE[3,4,8](x))),IMAG[3,4,5](RFFT2D[3,4,5](RESHAPE[3,4,8](x))))))"
        ),
    ),
}


def part(source: str, bins: str, op: str, between: str = "") -> Node:
    """What reads the result of a transform."""
    spectrum = SPECTRUM.format(source=source, bins=bins)
    sizes = between.rpartition("v:complex64[")[2].partition("]")[0] if between else bins
    made = f"{spectrum}{between}y[{sizes}] = {op}({'v' if between else 'c'})"
    return graphfix.load(tflite(made)).graphs[0].nodes[-1]


@pytest.mark.parametrize("case", PARTS)
def test_a_part_of_a_spectrum_is_read_at_rank_3(case: str) -> None:
    source, bins, op, between, expected = PARTS[case]
    edits = list(rfft2d_rank.plan(part(source, bins, op, between)))
    if expected is None:
        assert edits == []
        return
    (edit,) = edits
    assert isinstance(edit, Replace)
    assert written(edit.node) == expected
    assert (edit.code, edit.inexact is None) == ("GF304", op != "COMPLEX_ABS")


@pytest.mark.parametrize(("source", "bins"), [("N,2,4,8", "N,2,4,5"), ("N,4,8", "2,4,5")])
def test_a_transform_of_free_sizes_is_undecided(source: str, bins: str) -> None:
    with pytest.raises(Undecided, match=r"the sizes of x.* are not all known"):
        list(rfft2d_rank.plan(part(source, bins, "COMPLEX_ABS")))


ALPHAS = {
    "an axis too short": ("y[1,8,4] = tflite.PRELU(x[1,8,4], a:const[4])", [Lift(1, (0,), "GF304")]),
    "one number beside a vector": ("y[4] = tflite.PRELU(x[4], a:const[])", []),
    "one number beside one number": ("y[] = tflite.PRELU(x[], a:const[])", []),
    "a vector beside a vector": ("y[4] = tflite.PRELU(x[4], a:const[1])", [Restate(1, shape(), "GF304")]),
    "two axes too long": (
        "y[2,4] = tflite.PRELU(x[2,4], a:const[1,1,4])",
        [Restate(1, shape(4), "GF304")],
    ),
    "two axes too long, one of them a batch": (
        "y[2,4] = tflite.PRELU(x[2,4], a:const[1,2,4])",
        [Leave(1, "alpha [1, 2, 4] follows the batch of [2, 4], which PRELU in TOSA can't", "GF304", "left")],
    ),
}


@pytest.mark.parametrize("case", ALPHAS)
def test_an_alpha_gets_one_axis_less_than_the_input(case: str) -> None:
    text, edits = ALPHAS[case]
    assert list(prelu_alpha_rank.plan(node(text))) == edits


def test_an_alpha_too_long_of_free_sizes_is_undecided_and_a_short_one_is_lifted() -> None:
    with pytest.raises(Undecided, match="the sizes of a"):
        list(prelu_alpha_rank.plan(node("y[1,8,N] = tflite.PRELU(x[1,8,N], a[1,1,N])")))
    assert list(prelu_alpha_rank.plan(node("y[1,8,N] = tflite.PRELU(x[1,8,N], a[N])"))) == [Lift(1, (0,), "GF304")]

"""What the user chose about broadcasts: which of the planned edits are carried out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest

import graphfix
from graphfix.engine.policy import (
    Policy,
    _differ_in_rank,
    _fused_or,
    _lasting_name,
    _read_when_run,
    _without_lifts,
    unless_fused,
)
from graphfix.engine.request import Request, policy
from graphfix.graph.edits import Assume, Bypass, Canonicalize, Edit, Fold, Leave, Lift, Restate, Stretch
from graphfix.graph.protocols import Rewrite
from graphfix.graph.view import Node, UnrankedOperand
from graphfix.results import GraphfixError
from graphfix.shapes.dim import Shape, symbol
from graphfix.targets import target as targets
from graphfix.targets.target import Target
from tests.support.named import rules
from tests.support.notation import model, node
from tests.support.onnx.fixing import fixed

EQUALIZE, MATERIALIZE = rules("equalize-ranks", "materialize-broadcasts")
(NORMALIZE,) = rules("normalize-expand")
TWO_SIDED = Policy("two-sided")


def chosen(text: str, asked: Policy, rewrite: object = MATERIALIZE) -> Sequence[Edit]:
    assert isinstance(rewrite, Rewrite)
    return asked.edits(rewrite, node(text))


def test_keep_fusions_leaves_what_a_fusion_matches() -> None:
    scaled = graphfix.load(model("t = MatMul(a[2,3], b[3,4])\ny = Mul(t, s:const[]{0.5})")).graphs[0]
    asked, product = Policy(keep_fusions=True), scaled.nodes[1]
    kept = asked.fusions(MATERIALIZE, scaled).get(1)
    (edit,) = asked.edits(MATERIALIZE, product, kept)
    assert isinstance(edit, Leave)
    assert (edit.code, edit.status) == ("GF102", "exempt")
    assert edit.reason == "onnxruntime fuses this into FusedMatMul by this constant's shape (--keep-fusions)"
    assert [type(edit) for edit in asked.edits(EQUALIZE, product, kept)] == [Lift]


@pytest.mark.parametrize("text", ["y[2,3] = Mul(x[2,3], s:const[]{2.0})", "y[2,3] = Add(x[2,3], b:const[3])"])
def test_keep_fusions_leaves_nothing_else(text: str) -> None:
    asked = Policy(keep_fusions=True)
    graph = graphfix.load(model(text)).graphs[0]
    assert not asked.fusions(EQUALIZE, graph)
    assert [type(edit) for edit in asked.edits(EQUALIZE, graph.nodes[0])] == [Lift]


def test_nothing_is_searched_for_other_rewrites_or_without_the_option() -> None:
    graph = graphfix.load(model("t = MatMul(a[2,3], b[3,4])\ny = Mul(t, s:const[]{0.5})")).graphs[0]
    (other,) = rules("normalize-expand")
    assert isinstance(other, Rewrite)
    assert not Policy(keep_fusions=True).fusions(other, graph)
    assert not Policy().fusions(EQUALIZE, graph)


def test_a_target_may_keep_fusions() -> None:
    for keeps in (False, True):
        with mock.patch.object(targets, "target_of", return_value=Target("keep", (), "mine", keep_fusions=keeps)):
            assert policy(Request(target="mine")).keep_fusions is keeps
            assert policy(Request(target="mine", keep_fusions=True)).keep_fusions


TWO = {
    "no element: all of them, there is nothing to save": ("y[2,0] = Mul(a[2,1], b[1,0])", [0, 1]),
    "one operand only": ("y[2,3] = Add(x[2,3], b[1,3])", []),
    "a tie goes to the lowest index": ("y[2,3] = Add(x[2,1], b[1,3])", [0]),
    "fewest bytes after the stretch, by element size": ("y[2,3] = Where(c:bool[2,1], x[1,3], z[2,3])", [0]),
    "fewest bytes though its index is higher": ("y:float64[2,3] = Pow(x:float64[2,1], e[1,3])", [1]),
    "the mask is the cheaper one wherever it stands": (
        "y[2,3] = Where(c:bool[2,3], x:int64[2,1], z:int64[1,3])",
        [1],
    ),
    "until one is left to the operator": ("y[2,3,4] = Sum(a[1,3,4], b[2,1,4], c[2,3,1])", [0, 1]),
    "sizes not known: all of them": ("y[?] = Add(a[N], c[M])", [0, 1]),
    "sizes not known but one operand only": ("y[N,T] = Mul(a[N,1], c[N,T])", []),
    "the smaller matrix of a product": ("y[5,6,9,9] = tflite.BATCH_MATMUL(a[5,1,9,2], b[1,6,2,1])", [1]),
    "a matrix of unknown size": ("y[5,6,T,9] = tflite.BATCH_MATMUL(a[5,1,T,2], b[1,6,2,9])", [0, 1]),
}


@pytest.mark.parametrize(("text", "operands"), TWO.values(), ids=TWO)
def test_two_sided_stretches_the_cheapest(text: str, operands: list[int]) -> None:
    assert [edit.operand for edit in chosen(text, TWO_SIDED)] == operands


def test_unknown_keep_leaves_a_finding() -> None:
    edits = chosen("y[?] = Add(a[N], c[M])", Policy(unknown="keep"))
    assert [(type(edit), edit.operand, edit.code, edit.status) for edit in edits if isinstance(edit, Leave)] == [
        (Leave, 0, "GF103", "left"),
        (Leave, 1, "GF103", "left"),
    ]


def test_unknown_assume_states_the_assumption_and_stretches_what_is_certain() -> None:
    edits = chosen("y[?,T] = Add(a[N,1], c[M,T])", Policy(unknown="assume"))
    assert [type(edit) for edit in edits] == [Assume, Stretch, Assume]
    first = edits[0]
    assert isinstance(first, Assume)
    assert first.code == "GF103"
    assert "operand 0 [N, 1] to [?, T]" in first.text


def test_unknown_error_names_the_operand_and_says_what_to_do() -> None:
    with pytest.raises(GraphfixError, match=r"operand 0 a\[N\] may be stretched.*--dim"):
        chosen("y[?] = Add(a[N], c[M])", Policy(unknown="error"))


def test_unknown_error_has_nothing_against_a_certain_stretch() -> None:
    (edit,) = chosen("y[N,T] = Mul(a[N,1], c[N,T])", Policy(unknown="error"))
    assert isinstance(edit, Stretch)
    assert (edit.operand, edit.by, edit.code) == (0, (1,), "GF102")


@pytest.mark.parametrize("asked", [Policy("keep"), Policy(unknown="keep")], ids=["keep", "unknown keep"])
def test_without_the_run_time_form_a_rank_that_is_not_known_is_undecided(asked: Policy) -> None:
    for rewrite in (EQUALIZE, MATERIALIZE):
        with pytest.raises(UnrankedOperand, match="the rank of 'x' is not known"):
            chosen("y[*] = Add(x[*], b[3])", asked, rewrite)


def test_two_sided_stretches_all_operands_where_a_rank_is_not_known() -> None:
    assert len(chosen("y[*] = Add(x[*], b[3])", TWO_SIDED)) == 2


LOWER = {
    "y[2,3,4] = Add(x[2,3,4], b[3,4])": [(1, "GF102", "its rank is 2, and the result has rank 3")],
    "y[2,3] = Add(a[2,1], b[3])": [(1, "GF102", "its rank is 1, and the result has rank 2")],
    "y[N,M] = Add(a[N,M], b[K])": [(1, "GF103", "its rank is 1, and the result has rank 2")],
    "y[1,3] = Add(x[1,3], b[3])": [],
}


@pytest.mark.parametrize(("text", "expected"), LOWER.items(), ids=LOWER)
def test_a_stretch_changes_no_known_rank(text: str, expected: list[tuple[int, str, str]]) -> None:
    edits = [edit for edit in chosen(text, Policy()) if isinstance(edit, Leave)]
    assert [(edit.operand, edit.code, edit.reason.partition(":")[0], edit.status) for edit in edits] == [
        (*each, "left") for each in expected
    ]


def test_the_operand_that_two_sided_keeps_may_be_of_lower_rank() -> None:
    assert chosen("y[2,3,4] = Add(x[2,3,4], b[3,4])", TWO_SIDED) == []


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (Shape((3,)), Shape((1, 1, 3)), True),
        (Shape((1, 3)), Shape((3,)), True),
        (Shape((2, 3)), Shape((3,)), False),
        (Shape(None), Shape((3,)), False),
        (Shape((3,)), Shape(None), False),
    ],
)
def test_shapes_differ_in_rank_alone_only_where_both_ranks_are_known(one: Shape, other: Shape, alike: bool) -> None:
    assert _differ_in_rank(one, other) == alike


# --- what a target that goes the other way leaves ------------------------------------------------------------------


class Kept:
    """Fusions that any change of these operands ends, by node and operand; it notes what it is asked."""

    def __init__(self, *operands: int) -> None:
        self.operands = operands
        self.asked: list[tuple[int, str]] = []

    def fused(self, _: Node, operand: int, change: str) -> str | None:
        """The name of a fusion that such a change ends."""
        self.asked.append((operand, change))
        return "Fused" if operand in self.operands else None


READERS = """
    a[2,8] = Add(x[2,8], e[2,8])
    b[2,8] = Sub(x, e)
    c[2,8] = Mul(e, f[2,8])
    d[2,8] = Div(x, f)
    g[2,8] = Max(x, h[2,8])
"""


def planned(*bypassed: tuple[int, ...]) -> list[tuple[Node, list[Edit]]]:
    """By node of READERS the operands that it is no longer to read."""
    graph = graphfix.load(model(READERS)).graphs[0]
    source = next(value for value in graph.inputs if value.name == "h")
    each = zip(graph.nodes, bypassed, strict=True)
    return [(reader, [Bypass(operand, source) for operand in operands]) for reader, operands in each]


@pytest.mark.parametrize(
    ("kept", "edited"),
    [
        ({}, {"Add": 1, "Sub": 1, "Mul": 2, "Div": 1, "Max": 1}),
        ({0: 0}, {"Add": 1, "Sub": 1, "Mul": 2, "Div": 1, "Max": 1}),
        ({4: 1}, {"Add": 1, "Sub": 1, "Mul": 2, "Div": 1}),
        ({0: 1}, {"Max": 1}),
        ({3: 1}, {"Max": 1}),
    ],
    ids=["no fusion", "a fusion of another operand", "what nothing else reads", "e, so f too", "f, so e too"],
)
def test_what_stays_for_one_reader_stays_for_all_and_what_these_read_as_well(
    kept: dict[int, int], edited: dict[str, int]
) -> None:
    plans = planned((1,), (1,), (0, 1), (1,), (1,))
    graph = plans[0][0].graph
    fusions: Any = {graph: {at: Kept(operand) for at, operand in kept.items()}}
    chosen = unless_fused(plans, fusions)
    assert {reader.op: len(edits) for reader, edits in chosen if not isinstance(edits[0], Leave)} == edited


@pytest.mark.parametrize(
    "read",
    ["DequantizeLinear(x:int8[2,3,8], s:const[]{0.5}, z:const:int8[]{0})", "Neg(x[2,3,8])"],
    ids=["int8", "float"],
)
def test_what_a_fusion_keeps_is_a_site_beside_an_operand_that_is_dequantized_too(read: str) -> None:
    made = model(
        f"d[2,3,8] = {read}\ne[2,3,8] = Expand(k[8], s2:const{{2,3,8}})\na[2,3,8] = Add(d, e)\n"
        "n[2,3,8] = LayerNormalization(a, g:const[8], h:const[8])\no[2,3,8] = Neg(n)",
        opset=17,
    )
    (site,) = fixed(made, target="onnxruntime").outcome.sites
    assert (site.code, site.status, site.op, site.operand) == ("GF203", "exempt", "Add", 1)


def test_nodes_that_read_nothing_else_are_in_no_plan() -> None:
    plans = planned((), (1,), (), (), ())
    assert [reader.op for reader, _ in unless_fused(plans, {plans[0][0].graph: {}})] == ["Sub"]


@pytest.mark.parametrize(
    ("text", "edit", "change", "what"),
    [
        ("y[2,3] = Add(x[2,3], b:const[1,3])", Restate(1, Shape((3,))), "rank", "constant"),
        ("y[2,3] = Add(x[2,3], b:const[2,3])", Restate(1, Shape((1, 3))), "sizes", "constant"),
        ("y[2,3] = Add(x[2,3], b[2,3])", "[3]", "sizes", "operand"),
        ("y[2,3] = Add(x[2,3], b[1,3])", "[3]", "rank", "operand"),
        ("y[2,3] = Add(x[2,3], b[1,3])", "[*]", "sizes", "operand"),
    ],
)
def test_an_operand_of_a_fusion_is_left_with_the_change_that_would_end_it(
    text: str, edit: Restate | str, change: str, what: str
) -> None:
    reader = node(text)
    behind = node(f"q[3] = Neg(v{edit})").operand(0) if isinstance(edit, str) else None
    edits: list[Edit] = [Bypass(1, behind)] if behind is not None else [edit]  # type: ignore[list-item]
    kept: Any = Kept(1)
    assert _fused_or(reader, edits, kept) == [
        Leave(1, f"onnxruntime fuses this into Fused by this {what}'s shape (--keep-fusions)", "GF203")
    ]
    assert kept.asked == [(1, change)]
    assert _fused_or(reader, edits, None) is edits
    other: Any = Kept(0)
    assert _fused_or(reader, edits, other) is edits
    lift: list[Edit] = [Lift(1, (0,))]
    assert _fused_or(reader, lift, kept) is lift


@pytest.mark.parametrize(
    ("by", "to", "read"),
    [
        ((1, 2), Shape((2, 3)), ()),
        ((1, (2, 0)), Shape((symbol("N"), 3)), {0, 1, 2}),
        ((3, ((0, -1), (1, 0))), Shape((symbol("N"), 3)), {0, 1, 3}),
    ],
)
def test_a_stretch_to_numbers_reads_no_shape_when_it_is_run(by: Any, to: Shape, read: Any) -> None:  # noqa: ANN401
    assert _read_when_run(Stretch(0, by, to)) == read


@pytest.mark.parametrize(
    ("text", "edits", "left"),
    [
        ("y[2,3] = Expand(x[3], s:const{2,3})", [Lift(0, (0,)), Leave(0, "why", "GF202")], [Leave(0, "why", "GF202")]),
        ("y[2,3] = Expand(x[3], s:const{2,3})", [Lift(0, (0,)), Fold()], [Lift(0, (0,)), Fold()]),
        ("y[2,3] = Tile(x[1,3], r:const{2,1})", [Lift(0, (0,))], [Lift(0, (0,))]),
        ("y[2,3] = Add(x[2,3], b[3])", [Lift(1, (0,))], [Lift(1, (0,))]),
        ("y[2,3] = own.Expand(x[3], s:const{2,3})", [Lift(0, (0,))], [Lift(0, (0,))]),
    ],
    ids=["a stretch by a shape", "one that goes", "one by repeats", "no stretch", "one of another domain"],
)
def test_a_stretch_by_a_shape_that_stays_is_not_lifted(text: str, edits: list[Edit], left: list[Edit]) -> None:
    assert _without_lifts(node(text), edits) == left


@pytest.mark.parametrize(
    ("text", "asked", "edits"),
    [
        ("y[2,3] = Tile(x[1,3], r:const{2,1})", Policy(), [Canonicalize(Shape((2, 3)), "GF202")]),
        ("y[2,3] = Tile(x[1,3], r:const{2,1})", Policy(movement={"Tile"}), []),
        ("y[2,3] = Tile(x[1,3], r:const{2,1})", Policy(movement={"Expand"}), [Canonicalize(Shape((2, 3)), "GF202")]),
        ("y[2,3] = Tile(x[1,3], r:const{2,1})", Policy(folds=True), [Canonicalize(Shape((2, 3)), "GF202")]),
        ("y[2,3] = Expand(x[3], s:const{2,3})", Policy(movement={"Expand"}), [Lift(0, (0,), "GF202")]),
        ("y[2,3] = Expand(x[3], s:const{2,3})", Policy(movement={"Expand"}, folds=True), []),
        ("y[2,3] = Expand(x[1,3], s:const{2,3})", Policy(), []),
    ],
)
def test_what_the_target_takes_as_it_is_stays(text: str, asked: Policy, edits: list[Edit]) -> None:
    assert list(chosen(text, asked, NORMALIZE)) == edits


def test_a_stretch_to_a_shape_of_the_run_stays_and_is_undecided_without_the_run_time_form() -> None:
    text = "s:int64[*] = Shape(x[*])\ny[*] = Expand(z[3], s)"
    stretch = graphfix.load(model(text)).graphs[0].nodes[-1]
    assert isinstance(NORMALIZE, Rewrite)
    assert list(Policy().edits(NORMALIZE, stretch)) == [
        Leave(0, "its rank is known only at run time, where it takes the shape of another value", "GF104")
    ]
    for asked in (Policy(unknown="keep"), Policy("keep")):
        with pytest.raises(UnrankedOperand, match="the rank of 'y' is not known"):
            asked.edits(NORMALIZE, stretch)


def test_a_node_is_called_by_its_name_else_by_its_first_result_else_by_its_place() -> None:
    made = node("y[2] = Neg(x[2])")
    others = replace(made, name="own"), replace(made, results=()), replace(made, results=(None,))
    assert [_lasting_name(each) for each in (made, *others)] == ["y", "own", "Neg#0", "Neg#0"]

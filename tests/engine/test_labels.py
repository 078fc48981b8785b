"""A node without a name is called `Op#index` by the file's own count, whatever the view that found its site."""

from __future__ import annotations

import pytest

import graphfix
from graphfix.api import pipeline
from graphfix.engine.request import Request
from graphfix.engine.sites import Labels, fields, kept, left
from graphfix.graph.edits import Assume, Bypass, Edit, Fold, Leave, Lift, Restate, Stretch
from graphfix.shapes.dim import Shape
from tests.support.notation import model, node
from tests.support.places import ROOT

FILES = [
    "legacy/comparison.onnx",
    "legacy/prelu.onnx",
    "exported/bert_free.tflite",
    "exported/lstm_unrolled_batch.tflite",
]


@pytest.mark.parametrize("target", ["explicit", "tosa"])
@pytest.mark.parametrize("path", FILES)
def test_a_site_names_a_node_of_the_file(path: str, target: str) -> None:
    graphs = graphfix.load(ROOT / "models" / path).graphs
    labels = {(graph.path, node.label) for graph in graphs for node in graph.nodes}
    sites = pipeline.check(ROOT / "models" / path, Request(target=target)).sites
    counted = {(site.graph, site.node) for site in sites if "#" in site.node}
    assert counted
    assert counted <= labels


def test_a_node_whose_operator_was_replaced_keeps_its_name() -> None:
    sites = pipeline.check(ROOT / "models/exported/bert_free.tflite", Request(target="tosa")).sites
    assert {site.op for site in sites if site.node == "GELU#99"} == {"GELU", "MUL"}
    assert not [site for site in sites if site.node == "MUL#99"]


def test_what_edits_made_is_called_by_its_result() -> None:
    sites = pipeline.check(ROOT / "models/exported/gru_fixed.tflite", Request(target="tosa")).sites
    subtractions = [site.node for site in sites if site.op == "SUB"]
    assert len(subtractions) == 8  # one a trip of the loop
    assert all("gru_cell" in name for name in subtractions)


def test_nodes_of_a_later_view_have_their_names_of_the_file_and_new_ones_those_of_their_results() -> None:
    first = graphfix.load(model("a = Neg(x[2])\nb = Abs(a)")).graphs
    proto = model("n = Exp(x[2])\nm = Floor(n)\na = Neg(m)\nb = Abs(a)")
    proto.graph.node[1].name = "own"
    later, labels = graphfix.load(proto).graphs, Labels(first)
    names = labels.names(later)
    assert names == {("main", "Exp#0"): "n", ("main", "Neg#2"): "Neg#0", ("main", "Abs#3"): "Abs#1"}
    assert [labels.of(node, names) for node in later[0].nodes] == ["n", "own", "Neg#0", "Abs#1"]
    assert labels.names(later) is names
    assert labels.names(first) is None
    assert [labels.of(node, None) for node in first[0].nodes] == ["Neg#0", "Abs#1"]
    assert labels.names(graphfix.load(model("a = Neg(x[2])\nb = Abs(a)")).graphs) == {}


@pytest.mark.parametrize(
    ("label", "op", "found"),
    [
        ("Mul#0", "Mul", "Neg#0"),
        ("Mul#1", "Mul", "Abs#1"),
        ("Neg#0", "Neg", None),
        ("Mul#2", "Mul", None),
        ("Mul#x", "Mul", None),
        ("Exp#0", "Mul", None),
    ],
)
def test_a_node_that_was_replaced_by_another_operator_has_its_old_name(label: str, op: str, found: str | None) -> None:
    labels = Labels(graphfix.load(model("a = Neg(x[2])\nb = Abs(a)")).graphs)
    site = left("GF101", node(f"y[2] = {op}(x[2])"), None, "why", "rule")
    assert labels._replaced(label, site) == found


ADD = node("y[2,3] = Add(x[2,3], b[3])")
SOURCE = node("q[5] = Neg(v[5])").operand(0)
FIELDS: dict[str, tuple[Edit, tuple[object, ...]]] = {
    "a stretch": (Stretch(1, (0,), Shape((2, 3))), ("GF102", 1, (3,), (2, 3))),
    "a lift": (Lift(1, (0,)), ("GF101", 1, (3,), (1, 3))),
    "what stands behind": (Bypass(1, SOURCE), ("GF203", 1, (3,), (5,))),
    "a node that goes": (Fold(), ("GF203", 0, (2, 3), (2, 3))),
    "a node that passes on its second operand": (Fold(operand=1), ("GF203", 1, (3,), (3,))),
    "a constant in another shape": (Restate(1, Shape((1, 3))), ("GF203", 1, (3,), (1, 3))),
    "an edit of the node": (Leave(1, "why", "GF102"), ("GF102", None, (2, 3), (5,))),
}


@pytest.mark.parametrize(("edit", "said"), FIELDS.values(), ids=FIELDS)
def test_a_site_says_what_an_operand_was_and_is(edit: Edit, said: tuple[object, ...]) -> None:
    assert fields(edit, ADD.operands, (SOURCE,)) == said


def test_a_site_says_nothing_of_what_is_not_there() -> None:
    assert fields(Leave(1, "why", "GF102"), ADD.operands, ()) == ("GF102", None, (2, 3), None)
    assert fields(Leave(1, "why", "GF102"), (None,), (None,)) == ("GF102", None, None, None)
    assert fields(Lift(0, (0,)), node("y[*] = Add(x[*], b[3])").operands, ()) == ("GF101", 0, None, None)


def test_operands_that_stay_are_sites_of_their_own() -> None:
    edits = [
        Leave(1, "why", "GF102", "left"),
        Lift(0, (0,)),
        Assume(0, "it is so", "GF103"),
        Leave(None, "so", "GF305"),
    ]
    found = [
        (site.code, site.operand, site.before, site.after, site.status, site.rewrite, site.reason)
        for site in kept(ADD, edits, "rule")
    ]
    assert found == [
        ("GF102", 1, (3,), None, "left", "rule", "why"),
        ("GF103", 0, (2, 3), None, "exempt", "rule", "it is assumed that it is so"),
        ("GF305", None, None, None, "exempt", "rule", "so"),
    ]

"""A node without a name is called `Op#index` by the file's own count, whatever the view that found its site."""

from __future__ import annotations

import pytest

import graphfix
from graphfix.api import pipeline
from graphfix.engine.request import Request
from graphfix.engine.sites import Labels
from tests.support.notation import model
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

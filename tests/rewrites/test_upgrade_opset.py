"""Which node asks for a newer opset: plans only, no format."""

from __future__ import annotations

import pytest

from graphfix.graph.edits import Edit, Upgrade
from graphfix.graph.view import Graph, Node
from rewrites.tosa.upgrade_opset import plan_model
from tests.support.notation import node


def plans(*graphs: Graph) -> list[tuple[Node, list[Edit]]]:
    return [(planned, list(edits)) for planned, edits in plan_model(graphs)]


@pytest.mark.parametrize("opset", [7, 11, 16])
def test_the_first_operator_of_an_older_opset_asks_for_17(opset: int) -> None:
    first = node("y[2] = Relu(x[2])", opset=opset)
    assert plans(first.graph) == [(first, [Upgrade(17, "GF304")])]


def test_only_the_first_one_asks() -> None:
    first = node("y[2] = Relu(x[2])", opset=11)
    first.graph.nodes.append(Node("Relu", "", 11, "", 1, first.graph, first.operands, first.results, {}, None))
    assert [planned for planned, _ in plans(first.graph)] == [first]


def test_a_constant_before_it_has_no_operands_and_does_not_ask() -> None:
    later = node("y[2] = Relu(x[2])", opset=11)
    later.graph.nodes.insert(0, Node("Constant", "", 11, "", 0, later.graph, (), (), {}, None))
    assert [planned for planned, _ in plans(later.graph)] == [later]


def test_a_node_of_a_body_does_not_ask() -> None:
    inner = node("y[2] = Relu(x[2])", opset=11)
    body = Graph("main/if.then_branch", inner.graph, [inner])
    body.nodes[:] = [Node("Relu", "", 11, "", 0, body, inner.operands, inner.results, {}, None)]
    assert plans(body) == []


@pytest.mark.parametrize(
    ("text", "opset"),
    [
        ("y[2] = Relu(x[2])", 17),
        ("y[2] = Relu(x[2])", 21),
        ("y[2] = own.Relu(x[2])", 11),
        ("y[2] = tflite.ADD(x[2], z[2])", 1),
    ],
    ids=["at 17 already", "newer than 17", "an operator of another domain", "TFLite has no opset"],
)
def test_nothing_is_done(text: str, opset: int) -> None:
    assert plans(node(text, opset=opset).graph) == []

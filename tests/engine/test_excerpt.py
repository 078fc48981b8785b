"""What a report draws of a model: nodes before and after the edits, how their operands lie, and what is around them."""

from __future__ import annotations

import pytest
from onnx import ModelProto

from graphfix.api import pipeline
from graphfix.engine.request import Request
from graphfix.results import Outcome
from graphfix.results.excerpt import Excerpt, NodeExcerpt, OperandAxis
from tests.support import engine
from tests.support.notation import model
from tests.support.places import ROOT


def drawn(proto: ModelProto, target: str = "explicit") -> tuple[Outcome, Excerpt]:
    outcome = pipeline.fix(engine.load(proto), Request(target=target, excerpt=True), None)
    assert outcome.excerpt is not None
    return outcome, outcome.excerpt


def node(part: Excerpt, name: str) -> NodeExcerpt:
    (found,) = [each for each in part.nodes if each.node == name]
    return found


def test_without_the_wish_nothing_is_drawn() -> None:
    proto = model("y[2,3] = Add(x[2,3], b:const[3])")
    assert pipeline.fix(engine.load(proto), Request(), None).excerpt is None


def test_a_node_is_shown_before_and_after_with_what_was_made_for_it() -> None:
    _, part = drawn(model("y[2,3] = Add(x[2,3], b[3])"))
    add = node(part, "Add#0")
    assert (add.before, add.site, add.position) == ("y[2,3] = Add(x[2,3], b[3])", True, 0)
    made = [each for each in part.nodes if each.before is None]
    assert [each.op for each in made] == ["Reshape", "Expand"]
    assert [part.nodes.index(each) for each in made] == [0, 1]
    assert add.after == "y[2,3] = Add(x[2,3], b_lifted_stretched[2,3])"
    assert list(add.reads_after) == [made[1].key]
    assert list(made[1].reads_after) == [made[0].key]
    assert not add.reads_before


HOW = {
    "y[2,3,4] = Add(x[2,3,4], b[4])": ((2, 3, 4), [(None, "yes"), (None, "yes"), (0, "no")]),
    "y[2,3,4] = Add(x[2,3,4], b[3,1])": ((2, 3, 4), [(None, "yes"), (0, "no"), (1, "yes")]),
    "y[1,4] = Add(x[1,4], b[4])": ((1, 4), [(None, "no"), (0, "no")]),
    "y[N,4] = Add(x[N,4], b[M,1])": (("bc{M,N}", 4), [(0, "maybe"), (1, "yes")]),
}


@pytest.mark.parametrize("text", HOW)
def test_how_an_operand_lies_in_the_result(text: str) -> None:
    space, axes = HOW[text]
    add = node(drawn(model(text))[1], "Add#0")
    assert add.space is not None
    assert len(add.space) == len(space)
    assert [size for size in add.space if isinstance(size, int)] == [size for size in space if isinstance(size, int)]
    assert list(add.operands[1].axes) == [OperandAxis(*axis) for axis in axes]  # type: ignore[arg-type]
    assert (add.operands[1].value, add.operands[1].itemsize) == ("b", 4)


def test_a_matrix_product_broadcasts_its_batch_axes_alone() -> None:
    product = node(drawn(model("y[5,2,4] = MatMul(x[5,2,3], w[1,3,4])"))[1], "MatMul#0")
    assert product.space == (5,)
    assert list(product.operands[1].axes) == [OperandAxis(0, "yes")]
    assert product.operands[1].matrix == (3, 4)


def test_what_is_more_than_two_edges_away_is_left_out() -> None:
    lines = ["a0[2,3] = Relu(x[2,3])", *(f"a{at}[2,3] = Relu(a{at - 1})" for at in range(1, 5))]
    lines += ["s[2,3] = Add(a4, b:const[3])", *(f"z{at}[2,3] = Relu({f'z{at - 1}' if at else 's'})" for at in range(5))]
    _, part = drawn(model("\n".join(lines)), "ranks")
    assert [each.key for each in part.nodes] == ["main/a3", "main/a4", "main/s", "main/z0", "main/z1"]
    assert (part.steps, part.left_out) == (2, 6)
    assert [each.site for each in part.nodes] == [False, False, True, False, False]


def test_a_node_that_is_taken_out_is_not_there_after() -> None:
    _, part = drawn(model("e[2,3] = Expand(x[3], s:const{2,3})\ny[2,3] = Add(e, z[2,3])"), "compact")
    (expand,) = [each for each in part.nodes if each.op == "Expand"]
    assert expand.before is not None
    assert expand.after is None
    (add,) = [each for each in part.nodes if each.op == "Add"]
    assert list(add.reads_before) == [expand.key]
    assert not add.reads_after


@pytest.mark.parametrize("path", ["legacy/comparison.onnx", "bodies/if.onnx", "exported/bert_free.tflite"])
@pytest.mark.parametrize("target", ["explicit", "tosa"])
def test_the_node_of_every_site_is_drawn(path: str, target: str) -> None:
    outcome = pipeline.check(ROOT / "models" / path, Request(target=target, excerpt=True))
    assert outcome.excerpt is not None
    nodes = {(each.graph, each.node) for each in outcome.excerpt.nodes if each.site}
    assert {(site.graph, site.node) for site in outcome.sites if site.op not in ("input", "model")} == nodes
    keys = [each.key for each in outcome.excerpt.nodes]
    assert len(set(keys)) == len(keys)
    assert {key for each in outcome.excerpt.nodes for key in (*each.reads_before, *each.reads_after)} <= set(keys)

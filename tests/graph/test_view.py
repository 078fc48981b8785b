"""The view: who reads what, what is known of a value, and the notation."""

from __future__ import annotations

import pytest

from graphfix.graph.edits import Fold, Lift
from graphfix.graph.view import Graph, StaleShape, UnrankedOperand, Value
from tests.support import engine
from tests.support.notation import model, node, parsed
from tests.support.places import ROOT
from tests.support.shape_dialect import parse


def test_a_node_prints_in_the_notation() -> None:
    assert str(node("y[2,N] = Gemm(a[2,3], b[3,N], , transA=0)")) == "y[2,N] = Gemm(a[2,3], b[3,N], )"
    assert str(node("y[?,4] = Relu(x[?,4])")) == "y[?,4] = Relu(x[?,4])"
    assert str(node("y[*] = Relu(x[*])")) == "y[*] = Relu(x[*])"


def test_a_node_without_a_name_is_called_by_its_place() -> None:
    assert node("y[2] = Relu(x[2])").label == "Relu#0"


def value(graph: Graph, name: str) -> Value:
    return next(
        it for node in graph.nodes for it in (*node.operands, *node.results) if it is not None and it.name == name
    )


def readers(read: Value) -> list[tuple[str, int]]:
    return [(node.op, at) for node, at in read.reads]


def test_readers_are_those_that_read_it_now() -> None:
    opened = engine.load(model("y[2,3] = Where(c:bool[2,3], b[3], b)\nz[3] = Neg(b)\nu[2] = Abs(v[2])"))
    b = value(opened.graphs[0], "b")
    assert readers(b) == [("Where", 1), ("Where", 2), ("Neg", 0)]
    assert b.is_read
    opened.apply(opened.graphs[0].nodes[0], [Lift(1, (0,)), Lift(2, (0,))])
    assert readers(b) == [("Neg", 0), ("Reshape", 0)]
    assert b.is_read
    lifted = opened.graphs[0].nodes[0].operand(1)
    assert readers(lifted) == [("Where", 1), ("Where", 2)]


def test_a_value_that_lost_its_reader_is_not_read() -> None:
    opened = engine.load(model("e[3] = Expand(x[3], s:const{3})\ny[3] = Neg(e)"))
    graph = opened.graphs[0]
    e = value(graph, "e")
    opened.apply(graph.nodes[0], [Fold()])
    assert readers(e) == []
    assert not e.is_read
    assert ("Neg", 0) in readers(value(graph, "x"))


def test_a_body_reads_values_of_the_outer_graph() -> None:
    opened = engine.load(
        parsed("""main (bool c, float[3] x) => (float[3] y) {
            y = If (c) <then_branch = yes () => (float[3] t) { t = Neg(x) },
                        else_branch = no () => (float[3] e) { e = Add(x, x) }> }""")
    )
    x = value(opened.graphs[1], "x")
    assert x.graph is opened.graphs[0]
    assert readers(x) == [("Neg", 0), ("Add", 0), ("Add", 1)]


def test_nodes_that_edits_make_have_places_below_0() -> None:
    graph = Graph("main")
    first, second = (node(f"y[3] = {op}(x[3])") for op in ("Neg", "Abs"))
    graph.nodes, graph.made = [first], [second]
    assert graph.at(0) is first
    assert graph.at(-1) is second


def test_only_a_constant_has_a_literal() -> None:
    assert node("y[2] = Add(x[2], b:const{2,3})").operand(1).literal == (2, 3)
    assert node("y[2] = Add(x[2], b:overridable{2,3})").operand(1).literal is None
    assert node("y[2] = Add(x[2], b[2])").operand(1).literal is None


def test_what_is_not_known_is_said_by_name() -> None:
    with pytest.raises(UnrankedOperand, match=r"^the rank of 'x' is not known$"):
        _ = node("y[*] = Add(x[*], b[2])").operand(0).ranked
    graph = engine.load(model("v[*] = my.Thing(x[2])\ny[*] = Neg(v)")).graphs[0]
    with pytest.raises(UnrankedOperand, match=r"'v' is not known \(Thing 'Thing#0' of x\[2\] has a result of"):
        _ = value(graph, "v").ranked
    stale = Value("v", parse("[2]"), "float32", "result", Graph("main"), "the stored shape [3] contradicts [2]")
    with pytest.raises(StaleShape, match="contradicts"):
        _ = stale.ranked


NOBODY_KNOWS = "Thing 'Thing#0' of x[2] has a result of unknown rank; the file may store the shape of 'v'"
LOST = {
    "Squeeze without axes": ("s[*] = Squeeze(x[N,1])\ng[*] = Sigmoid(s)\ny[*] = Mul(g, k:const[3])", "g",
                             "Squeeze 'Squeeze#0' of x[N,1] has a result of unknown rank"),
    "an operator that nobody knows": ("v[*] = my.Thing(x[2])\nw[*] = Add(v, b[3])\ny[*] = Neg(w)", "y",
                                      NOBODY_KNOWS),
    "the second operand of two": ("v[*] = my.Thing(x[2])\nw[*] = Add(b[3], v)\ny[*] = Neg(w)", "w",
                                  NOBODY_KNOWS),
    "a Reshape by a shape of unknown length": (
        "r[*] = Reshape(x[*], s:int64[N])\ny[*] = Neg(r)", "y",
        "Reshape 'Reshape#0' of x[*], s[N] has a result of unknown rank"),
    "an input": ("a[*] = Neg(x[*])\nw[*] = Add(a, b[3])\ny[*] = Neg(w)", "w", "the rank of 'x' is not known"),
}  # fmt: skip


@pytest.mark.parametrize("case", LOST)
def test_an_unknown_rank_is_traced_to_where_it_was_lost(case: str) -> None:
    text, name, why = LOST[case]
    with pytest.raises(UnrankedOperand) as caught:
        _ = value(engine.load(model(text)).graphs[0], name).ranked
    assert str(caught.value) == f"the rank of '{name}' is not known ({why})"


def test_branches_of_two_ranks_lose_the_rank_behind_them() -> None:
    graph = engine.load(ROOT / "models/bodies/if_ranks.onnx").graphs[0]
    (branch,) = (node for node in graph.nodes if node.op == "If")
    result = next(each for each in branch.results if each is not None)
    (reader, at), *_ = result.reads
    with pytest.raises(UnrankedOperand, match=rf"If '{branch.label}' of .* has a result of unknown rank"):
        _ = reader.operand(at).ranked


@pytest.mark.parametrize("index", [2, 3])
def test_an_absent_operand_is_a_lookup_error(index: int) -> None:
    with pytest.raises(LookupError, match=f"Gemm 'Gemm#0' has no operand {index}"):
        node("y[3,5] = Gemm(a[3,4], b[4,5], )").operand(index)

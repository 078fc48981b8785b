"""What `show` prints: a heading for each scope, a line for each node, and the indexing maps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import graphfix
from graphfix.engine.extracts import selection
from graphfix.engine.extracts.listing import listing
from graphfix.engine.extracts.selection import NodeSelection
from graphfix.report.listing import GUTTER, listing_lines
from graphfix.results import GraphfixError
from tests.support.notation import model, node, parsed


def shown(text: str, *, maps: bool = False, broadcasts_only: bool = False) -> list[str]:
    proto = parsed(text) if "=>" in text else model(text)
    return lines(graphfix.load(proto), NodeSelection(maps=maps, broadcasts_only=broadcasts_only))


def lines(model: Any, selection: NodeSelection) -> list[str]:  # noqa: ANN401 - a stand-in with graphs will do
    """The lines of a listing without the counts at its end."""
    printed = list(listing_lines(listing(model, selection)))
    return printed[: printed.index("")]


def test_inputs_nodes_and_outputs() -> None:
    assert shown("v[2,3] = Add(x[2,3], b:const[3])\ny:bool[2,3] = Greater(v, z[2,1])") == [
        "main:",
        "    input x[2,3] float32",
        "    input z[2,1] float32",
        "L   v[2,3] = Add(x[2,3], b[3]=[1.0, 2.0, 3.0])",
        "S   y[2,3] = Greater(v[2,3], z[2,1])",
        "    output y[2,3] bool",
    ]


def test_names_of_nodes_stand_behind() -> None:
    proto = model("y[2,3] = Add(x[2,3], b[3])")
    proto.graph.node[0].name = "head/add"
    assert "L   y[2,3] = Add(x[2,3], b[3])    # head/add" in lines(graphfix.load(proto), NodeSelection())


MAPS = {
    "a lifted operand": (
        "y[2,3,4] = Add(x[2,3,4], b[4])",
        ["(d0, d1, d2) -> (d0, d1, d2)", "(d0, d1, d2) -> (d2)"],
    ),
    "a stretched axis": ("y[2,3] = Add(x[2,1], b[1,3])", ["(d0, d1) -> (d0, 0)", "(d0, d1) -> (0, d1)"]),
    "an axis that may be stretched": ("y[?] = Add(x[N], b[M])", ["(d0) -> (d0?)", "(d0) -> (d0?)"]),
    "a 1 under a 1": ("y[1] = Add(x[1], b[1])", ["(d0) -> (d0)", "(d0) -> (d0)"]),
    "a scalar": ("y[2] = Add(x[2], b[])", ["(d0) -> (d0)", "(d0) -> ()"]),
}


ADJOINED = {
    (): ["(d0, d1, d2, d3) -> (d0, d1, d3)", "(d0, d1, d2, d3) -> (0, d3, d2)"],
    ("adj_x",): ["(d0, d1, d2, d3) -> (d0, d3, d1)", "(d0, d1, d2, d3) -> (0, d3, d2)"],
    ("adj_y",): ["(d0, d1, d2, d3) -> (d0, d1, d3)", "(d0, d1, d2, d3) -> (0, d2, d3)"],
    ("adj_x", "adj_y"): ["(d0, d1, d2, d3) -> (d0, d3, d1)", "(d0, d1, d2, d3) -> (0, d2, d3)"],
}


@pytest.mark.parametrize(("adjoint", "maps"), ADJOINED.items(), ids=map(",".join, ADJOINED))
def test_an_adjoint_operand_of_a_product_has_its_matrix_axes_swapped(adjoint: tuple[str, ...], maps: list[str]) -> None:
    left, right = "a[8,3,2]" if "adj_x" in adjoint else "a[8,2,3]", "b[1,4,3]" if "adj_y" in adjoint else "b[1,3,4]"
    flags = ", ".join(f"{name}={name in adjoint}" for name in ("adj_x", "adj_y"))
    planned = node(f"y[8,2,4] = tflite.BATCH_MATMUL({left}, {right}, {flags})")
    opened = SimpleNamespace(graphs=[planned.graph])
    printed = lines(opened, NodeSelection(maps=True, broadcasts_only=True))
    assert [line.strip() for line in printed if "->" in line] == [
        f"operand {at}: {text}" for at, text in enumerate(maps)
    ]


@pytest.mark.parametrize(("text", "maps"), MAPS.values(), ids=MAPS)
def test_indexing_maps_as_linalg_writes_them(text: str, maps: list[str]) -> None:
    printed = [line.strip() for line in shown(text, maps=True) if "->" in line]
    assert printed == [f"operand {at}: {text}" for at, text in enumerate(maps)]


def test_maps_that_are_not_known_say_why() -> None:
    assert "        maps: not known: the rank of 'x' is not known" in shown("y[*] = Add(x[*], b[3])", maps=True)


def test_only_what_broadcasts_implicitly() -> None:
    text = """v[2,3] = Add(x[2,3], b[2,3])
              w[2,3] = Add(v, c[1,3])
              r[2,3] = Relu(w)
              p[2,3] = Pow(r, e[])
              y[*] = Mul(p, u[*])"""
    assert [line.split(" =")[0] for line in shown(text, broadcasts_only=True)] == [
        "main:",
        "S   w[2,3]",
        "L   p[2,3]",
        "!   y[*]",
    ]


def test_scopes_without_broadcasts_have_no_heading_then() -> None:
    text = """main (bool c, float[2,3] x, float[3] b) => (float[2,3] y) {
        [pick] y = If (c) <then_branch = yes () => (float[2,3] t) { t = Add(x, b) },
                          else_branch = no () => (float[2,3] e) { e = Neg(x) }> }"""
    assert [line for line in shown(text, broadcasts_only=True) if line.endswith(":")] == ["main/pick.then_branch:"]
    assert [line for line in shown(text) if line.endswith(":")] == [
        "main:",
        "main/pick.then_branch:",
        "main/pick.else_branch:",
    ]


# --- small constants ------------------------------------------------------------------------------------------------


def test_the_elements_of_small_constants_are_shown() -> None:
    text = """main (float[6] x) => (float[2,3] y) <int64[2] sizes = {2, -1}, int64[9] many = {0,1,2,3,4,5,6,7,8}> {
        r = Reshape (x, sizes)
        [one] c = Constant <value_float = 0.1> ()
        y = Mul (r, c)
        g = Gather (x, many) }"""
    assert shown(text)[2:-1] == [
        "    r[2,3] = Reshape(x[6], sizes[2]=[2, -1])",
        "    c[] = Constant() = 0.1    # one",
        "L   y[2,3] = Mul(r[2,3], c[])",
        "    g[9] = Gather(x[6], many[9])",
    ]


# --- which nodes ----------------------------------------------------------------------------------------------------

CHAIN = """main (float[2,3] x, float[3] b) => (float[2,3] z) {
    [first] v = Add (x, b)
    w = Neg (v)
    [last] u = Add (w, b)
    z = Relu (u) }"""


def chain() -> Any:  # noqa: ANN401 - a model
    """Four nodes, one after the other; the third has brackets in its name."""
    proto = parsed(CHAIN)
    proto.graph.node[2].name = "stem/last[0]"
    return graphfix.load(proto)


SELECTED = {
    "by operator": (NodeSelection(nodes="Add"), "vu"),
    "by a name with letters left open": (NodeSelection(nodes="stem/*"), "u"),
    "brackets are letters": (NodeSelection(nodes="*last[0]"), "u"),
    "by the place of a node without a name": (NodeSelection(nodes="Neg#1"), "w"),
    "no edge away": (NodeSelection(around=("first", 0)), "v"),
    "one edge away, forwards and back": (NodeSelection(around=("Neg#1", 1)), "vwu"),
    "around what a node makes": (NodeSelection(around=("z", 1)), "uz"),
    "further than the model goes": (NodeSelection(around=("z", 100)), "vwuz"),
    "all of it at once": (NodeSelection(broadcasts_only=True, nodes="Add", around=("z", 1), graphs="ma?n"), "u"),
}


@pytest.mark.parametrize(("selection", "made"), SELECTED.values(), ids=SELECTED)
def test_the_nodes_that_were_asked_for(selection: NodeSelection, made: str) -> None:
    printed = lines(chain(), selection)
    assert "".join(line[GUTTER] for line in printed if " = " in line) == made
    assert not any("input" in line or "output" in line for line in printed)


def test_the_counts_are_those_of_the_whole_model() -> None:
    model = chain()
    assert list(listing_lines(listing(model, NodeSelection())))[-2:] == [
        "4 nodes: Add 2, Neg 1, Relu 1",
        "operands: 2 lifted (L)",
    ]
    assert list(listing_lines(listing(model, NodeSelection(nodes="Relu"))))[-2:] == [
        "1 of 4 nodes shown: Add 2, Neg 1, Relu 1",
        "operands: 2 lifted (L)",
    ]


def test_a_body_reads_what_is_around_it() -> None:
    text = """main (bool c, float[2,3] x, float[3] b) => (float[2,3] y) {
        [outer] v = Neg (x)
        [pick] y = If (c) <then_branch = yes () => (float[2,3] t) { [inner] t = Add(v, b) },
                          else_branch = no () => (float[2,3] e) { e = Neg(x) }> }"""
    model = graphfix.load(parsed(text))
    assert [line for line in lines(model, NodeSelection(around=("outer", 1))) if "t[2,3]" in line]
    whole = lines(model, NodeSelection(graphs="*.then_branch"))
    assert [line.strip() for line in whole] == [
        "main/pick.then_branch:",
        "L   t[2,3] = Add(v[2,3], b[3])    # inner",
        "output t[2,3] float32",
    ]


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        (NodeSelection(around=("frist", 1)), "no node or result 'frist'; did you mean 'first'?"),
        (NodeSelection(around=("first", -1)), "around 'first': a number of edges is at least 0, not -1"),
        (NodeSelection(graphs="mian"), "no graph 'mian'; did you mean 'main'?"),
        (NodeSelection(nodes="add"), "no node 'add'; did you mean 'Add'?"),
        (NodeSelection(nodes="Frist"), "no node 'Frist'; did you mean 'first'?"),
        (NodeSelection(nodes="Qqqq*"), "no node 'Qqqq*'; graphfix show without it lists them all"),
        (NodeSelection(graphs="qqqq"), "no graph 'qqqq'; graphfix show without it lists them all"),
    ],
)
def test_what_is_not_there_is_an_error(selection: NodeSelection, said: str) -> None:
    with pytest.raises(GraphfixError) as raised:
        listing(chain(), selection)
    assert str(raised.value) == said


def test_an_output_is_shown_without_elements_though_it_is_a_constant() -> None:
    text = "main (float[2] x) => (float[2] y, float[2] k) <float[2] k = {1, 2}> { y = Add (x, k) }"
    assert shown(text)[2:] == [
        "    y[2] = Add(x[2], k[2]=[1.0, 2.0])",
        "    output k[2] float32",
        "    output y[2] float32",
    ]


@pytest.mark.parametrize(
    ("around", "said"),
    [
        (("add", 1), True),
        (["add", 1], True),
        (("add", "1"), False),
        ((1, 1), False),
        ((1, "add"), False),
        (("add",), False),
        (("add", 1, 2), False),
        ("ab", False),
        (None, False),
    ],
)
def test_a_place_is_a_node_and_a_number(around: object, said: bool) -> None:
    assert selection._is_node_and_number(around) == said

"""What `show` prints: a heading for each scope, a line for each node, and the indexing maps."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import graphfix
from graphfix.engine import listing
from tests.support.notation import model, node, parsed


def shown(text: str, *, maps: bool = False, broadcasts_only: bool = False) -> list[str]:
    proto = parsed(text) if "=>" in text else model(text)
    return list(listing.lines(graphfix.load(proto), maps=maps, broadcasts_only=broadcasts_only))


def test_inputs_nodes_and_outputs() -> None:
    assert shown("v[2,3] = Add(x[2,3], b:const[3])\ny:bool[2,3] = Greater(v, z[2,1])") == [
        "main:",
        "  input x[2,3] float32",
        "  input z[2,1] float32",
        "  v[2,3] = Add(x[2,3], b[3])",
        "  y[2,3] = Greater(v[2,3], z[2,1])",
        "  output y[2,3] bool",
    ]


def test_names_of_nodes_stand_behind() -> None:
    proto = model("y[2,3] = Add(x[2,3], b[3])")
    proto.graph.node[0].name = "head/add"
    opened = graphfix.load(proto)
    assert "  y[2,3] = Add(x[2,3], b[3])    # head/add" in listing.lines(opened, maps=False, broadcasts_only=False)


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
    lines = listing.lines(opened, maps=True, broadcasts_only=True)  # type: ignore[arg-type] -- no format: a graph will do
    assert [line.strip() for line in lines if "->" in line] == [f"operand {at}: {text}" for at, text in enumerate(maps)]


@pytest.mark.parametrize(("text", "maps"), MAPS.values(), ids=MAPS)
def test_indexing_maps_as_linalg_writes_them(text: str, maps: list[str]) -> None:
    printed = [line.strip() for line in shown(text, maps=True) if "->" in line]
    assert printed == [f"operand {at}: {text}" for at, text in enumerate(maps)]


def test_maps_that_are_not_known_say_why() -> None:
    assert "      maps: not known: the rank of 'x' is not known" in shown("y[*] = Add(x[*], b[3])", maps=True)


def test_only_what_broadcasts_implicitly() -> None:
    text = """v[2,3] = Add(x[2,3], b[2,3])
              w[2,3] = Add(v, c[1,3])
              r[2,3] = Relu(w)
              p[2,3] = Pow(r, e[])
              y[*] = Mul(p, u[*])"""
    assert [line.split()[0] for line in shown(text, broadcasts_only=True)] == [
        "main:",
        "w[2,3]",
        "p[2,3]",
        "y[*]",
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

"""The body of an IF or a WHILE in the place of the operator: what is refused, and what comes out."""

from __future__ import annotations

from typing import Any

import pytest

from graphfix.graph.edits import Inline, Refused
from graphfix.graph.view import Trips
from models.builders.tflite.text import Quantized, Signature, model
from tests.support import engine


def inlined(data: bytes, edit: Inline) -> tuple[str, Any]:
    """Why an edit of the first IF or WHILE is refused, empty where it is carried out; and the model."""
    loaded = engine.load(data)
    node = next(node for node in loaded.graphs[0].nodes if node.op in ("IF", "WHILE"))
    try:
        loaded.apply(node, [edit])
    except Refused as why:
        return str(why), loaded
    loaded.changed = True
    loaded.finish()
    loaded.refresh()
    return "", engine.load(loaded.tobytes())


def nodes(loaded: Any) -> list[str]:  # noqa: ANN401 - the engine's model
    return [str(node) for node in loaded.graphs[0].nodes]


BRANCHES = """y[2] = IF(c:const:bool[]{{1}}, x[2], then=yes, else=no)
z[2] = NEG(y)
subgraph yes(v[2]){1}:
{0}
subgraph no(v[2]):
t[2] = ABS(v)"""
GIVEN = "its branch returns what it is given, a constant, or one value twice"
INLINED = {
    "an operator": ("t[2] = NEG(v)", "", ""),
    "two operators": ("s[2] = NEG(v)\nt[2] = ABS(s)", "", ""),
    "a variable": ("t[2] = CUSTOM.Op(v, w:variable[2])", "", "its branch holds a variable or a sparse constant"),
    "what it is given": ("t[2] = NEG(v)", " -> v", GIVEN),
    "a constant": ("t[2] = ADD(v, k:const[2])", " -> k", GIVEN),
    "a custom operator": ("t[2] = CUSTOM.Op(v)", "", ""),
}


@pytest.mark.parametrize("name", INLINED)
def test_a_branch_takes_the_place_of_its_if(name: str) -> None:
    body, returned, why = INLINED[name]
    assert inlined(model(BRANCHES.format(body, returned)), Inline("then_branch"))[0] == why


def test_a_branch_that_quantizes_otherwise_stays() -> None:
    text = BRANCHES.format("t:int8[2] = TANH(v)", "").replace("[2]", ":int8[2]").replace(":int8:int8", ":int8")
    scales = {name: Quantized(0.5, 3) for name in "xyzvt"}
    assert inlined(model(text, quantization=scales), Inline("then_branch"))[0] == ""
    scales["v"] = Quantized(0.25, 3)
    found = inlined(model(text, quantization=scales), Inline("then_branch"))[0]
    assert found == "its branch quantizes an input or an output otherwise"


def test_an_inlined_branch_reads_what_the_if_is_given() -> None:
    text = BRANCHES.format("s[2] = MUL(v, k:const[2]{1.0,2.0})\nt[2] = ABS(s)", "")
    _, loaded = inlined(model(text), Inline("then_branch"))
    assert nodes(loaded) == ["s[2] = MUL(x[2], k[2])", "y[2] = ABS(s[2])", "z[2] = NEG(y[2])"]
    assert len(loaded.graphs) == 1
    _, other = inlined(model(text), Inline("else_branch"))
    assert nodes(other) == ["y[2] = ABS(x[2])", "z[2] = NEG(y[2])"]


def test_names_of_a_body_that_are_taken_are_others() -> None:
    text = BRANCHES.format("z[2] = MUL(v, k:const[2]{1.0,2.0})\nt[2] = ABS(z)", "")
    assert nodes(inlined(model(text), Inline("then_branch"))[1])[0] == "z_[2] = MUL(x[2], k[2])"


def test_a_subgraph_that_a_signature_runs_stays() -> None:
    signatures = {"serve": Signature("main", {"x": "x"}, {"z": "z"}), "other": Signature("yes", {"v": "v"}, {"t": "t"})}
    data = model(BRANCHES.format("t[2] = NEG(v)", ""), signatures=signatures)
    assert len(inlined(data, Inline("then_branch"))[1].graphs) == 2
    first = {"serve": Signature("main", {"x": "x"}, {"z": "z"}), "other": Signature("no", {"v": "v"}, {"t": "t"})}
    data = model(BRANCHES.format("t[2] = NEG(v)", ""), signatures=first)
    assert len(inlined(data, Inline("then_branch"))[1].graphs) == 3


TWO = """y[2] = IF(c:bool[], x[2], then=yes, else=no)
z[2] = IF(c, y, then=more, else=less)
subgraph unused(v[2]):
b:bool[] = LESS(k:const:int32[]{1}, l:const:int32[]{2})
t[2] = IF(b, v, then=no, else=yes)
subgraph yes(v[2]):
t[2] = NEG(v)
subgraph no(v[2]):
t[2] = ABS(v)
subgraph more(v[2]):
t[2] = SIN(v)
subgraph less(v[2]):
t[2] = COS(v)"""


def test_what_a_subgraph_that_stays_would_run_stays_and_what_is_behind_goes() -> None:
    loaded = engine.load(model(TWO))
    for node in [node for node in loaded.graphs[0].nodes if node.op == "IF"]:
        loaded.apply(node, [Inline("then_branch")])
    loaded.changed = True
    loaded.finish()
    loaded.refresh()
    written = engine.load(loaded.tobytes())
    assert nodes(written) == ["y[2] = NEG(x[2])", "z[2] = SIN(y[2])"]
    assert list(written.graph_names.values()) == ["main", "unused", "no", "yes"]


LOOP = """n:int32[], p[2], q[2] = WHILE(i:const:int32[]{{0}}, x[2], z[2], cond=test, body=turn)
y[2] = SUB(p, q)
m:int32[] = NEG(n)
subgraph test(i:int32[], v[2], w[2]) -> b:
b:bool[] = LESS(i, c:const:int32[]{{3}})
subgraph turn(i:int32[], v[2], w[2]) -> {0}:
j:int32[] = ADD(i, c:const:int32[]{{1}})
{1}"""
TRIPS = {
    0: ["y[2] = SUB(x[2], z[2])"],
    1: ["p[2] = NEG(x[2])", "y[2] = SUB(p[2], z[2])"],
    3: ["t[2] = NEG(x[2])", "t_1[2] = NEG(t[2])", "p[2] = NEG(t_1[2])", "y[2] = SUB(p[2], z[2])"],
}


@pytest.mark.parametrize("trips", TRIPS)
def test_a_body_is_there_once_a_trip(trips: int) -> None:
    why, loaded = inlined(model(LOOP.format("j, t, w", "t[2] = NEG(v)")), Inline("body", trips=trips))
    assert why == ""
    assert [text for text in nodes(loaded) if "[2]" in text] == TRIPS[trips]
    assert sum(node.op == "ADD" for node in loaded.graphs[0].nodes) == trips
    assert len(loaded.graphs) == 1


REFUSED = {
    "a state": ("j, t, w", "t[2] = CUSTOM.Op(v)", None, "an operator of its body has a state, or may have one"),
    "one value twice": ("j, t, t", "t[2] = NEG(v)", None, GIVEN),
    "an input at another place": ("j, t, v", "t[2] = NEG(v)", None, GIVEN),
    "an output of the graph that is passed on": (
        "j, t, w",
        "t[2] = NEG(v)",
        ["y", "m", "q"],
        "it returns what it is given as an output of the graph",
    ),
    "an output of the graph that is computed": ("j, t, w", "t[2] = NEG(v)", ["y", "m", "p"], ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_loop_stays_where_a_trip_is_no_part_of_the_graph(name: str) -> None:
    returned, turn, outputs, why = REFUSED[name]
    assert inlined(model(LOOP.format(returned, turn), outputs=outputs), Inline("body", trips=2))[0] == why


def test_a_state_below_a_body_counts() -> None:
    below = "\nsubgraph deep(d[2]):\nt[2] = CUSTOM.Op(d)\nsubgraph flat(d[2]):\nt[2] = ABS(d)"
    turn = "e:bool[] = LESS(i, c)\nt[2] = IF(e, v, then={0}, else=flat)"
    for name, why in (("deep", "an operator of its body has a state, or may have one"), ("flat", "")):
        data = model(LOOP.format("j, t, w", turn.format(name)) + below)
        assert inlined(data, Inline("body", trips=1))[0] == why


NESTED = """n:int32[], y[2] = WHILE(i:const:int32[]{0}, x[2], cond=test, body=turn)
subgraph test(i:int32[], v[2]) -> b:
b:bool[] = LESS(i, c:const:int32[]{3})
subgraph turn(i:int32[], v[2]) -> j, t:
j:int32[] = ADD(i, c:const:int32[]{1})
k:int32[], t[2] = WHILE(o:const:int32[]{0}, v, cond=test, body=inner)
subgraph inner(i:int32[], v[2]) -> j, t:
j:int32[] = ADD(i, c:const:int32[]{1})
s[2] = ABS(v)
t[2] = NEG(s)"""


def test_a_loop_inside_a_loop_counts_as_if_it_ran_64_times() -> None:
    outer = engine.load(model(NESTED)).graphs[0].nodes[0]
    assert outer.trips == Trips(3, 2 + 64 * 3)

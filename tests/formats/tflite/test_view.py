"""What the view says of a TFLite file's constants, results and subgraphs."""

from __future__ import annotations

from typing import Any

import pytest

from graphfix.graph.view import Graph, Value
from models.builders.tflite.text import Quantized, model, pack, tree
from tests.support import engine


def graph_of(text: str, **options: Any) -> Graph:  # noqa: ANN401 - the arguments of the builder
    graph: Graph = engine.load(model(text, **options)).graphs[0]
    return graph


def value(graph: Graph, name: str) -> Value:
    every = [it for node in graph.nodes for it in (*node.operands, *node.results)]
    return next(it for it in every if it is not None and it.name == name)


def constant(declared: str, **options: Any) -> Value:  # noqa: ANN401 - the arguments of the builder
    return value(graph_of(f"y[*] = CUSTOM.Op(k:const{declared}, x[?])", **options), "k")


LITERALS = {
    ":float32[2]{1.5,-2.0}": (1.5, -2.0),
    ":float64[2]{1.5,-2.0}": (1.5, -2.0),
    ":float16[2]{1.5,-2.0}": (1.5, -2.0),
    ":bool[2]{1,0}": (True, False),
    ":int8[2]{-1,2}": (-1, 2),
    ":uint8[2]{255,2}": (255, 2),
    ":int16[2]{-1,300}": (-1, 300),
    ":uint16[2]{65535,2}": (65535, 2),
    ":int32[2]{-1,70000}": (-1, 70000),
    ":uint32[2]{4294967295,2}": (4294967295, 2),
    ":int64[2]{-1,5000000000}": (-1, 5000000000),
    ":uint64[2]{18446744073709551615,2}": (18446744073709551615, 2),
    ":int32[2,2]{1,2,3,4}": (1, 2, 3, 4),
    ":int32[]{7}": (7,),
    ":int4[2]{1,2}": None,
    ":bfloat16[2]{1.0,2.0}": None,
    ":int32[64]": (0,) * 64,
    ":int32[65]": None,
}


@pytest.mark.parametrize("declared", LITERALS)
def test_the_elements_of_a_small_constant_are_read(declared: str) -> None:
    found, expected = constant(declared).literal, LITERALS[declared]
    if expected == (0,) * 64:
        assert found is not None
        assert len(found) == 64
    else:
        assert found == expected


REPEATS = {
    ":float32[2,3]{1.0,2.0,3.0,1.0,2.0,3.0}": ("[1, 3]", None),
    ":float32[2,3]{1.0,1.0,1.0,2.0,2.0,2.0}": ("[2, 1]", None),
    ":float32[2,3]{1.5,1.5,1.5,1.5,1.5,1.5}": ("[1, 1]", 1.5),
    ":int64[2]{7,7}": ("[1]", 7),
    ":int64[]{7}": ("[]", 7),
    ":int32[2]{1,2}": ("[2]", None),
}


@pytest.mark.parametrize("declared", REPEATS)
def test_axes_along_which_a_constant_repeats_are_found(declared: str) -> None:
    expected = REPEATS[declared]
    k = constant(declared)
    for _ in range(2):
        assert k.repeats is not None
        assert (str(k.repeats.least), k.repeats.number) == expected


def test_what_no_repeat_is_looked_for_in() -> None:
    assert constant(":int4[2]{1,1}").repeats is None
    assert constant(":bfloat16[2]{1.0,1.0}").repeats is None
    assert value(graph_of("y[2] = ABS(x[2])"), "x").repeats is None


CONTENTS = {
    ":int32[3]{2,3,4}": "[2, 3, 4]",
    ":int64[2]{2,0}": "[2, 0]",
    ":int32[2]{2,-1}": None,
    ":int32[1,2]{2,3}": None,
    ":float32[2]{2.0,3.0}": None,
    ":int16[2]{2,3}": None,
}


@pytest.mark.parametrize("declared", CONTENTS)
def test_a_vector_of_integers_that_are_sizes_is_a_shape(declared: str) -> None:
    content = constant(declared).content
    assert (None if content is None else str(content)) == CONTENTS[declared]


def test_scales_are_counted_and_a_single_one_is_read() -> None:
    single = constant(":int8[2]{1,2}", quantization={"k": Quantized(0.5, 3)})
    assert (single.scales, single.quantization) == (1, (0.5, 3))
    several = constant(":int8[2]{1,2}", quantization={"k": Quantized((0.5, 0.25), 0)})
    assert (several.scales, several.quantization) == (2, None)
    none = constant(":int8[2]{1,2}", quantization={"k": None})
    assert (none.scales, none.quantization) == (0, None)


KINDS = {
    "an input": ("y[2] = ABS(k[2])", "input"),
    "a result": ("k[2] = ABS(x[2])\ny[2] = NEG(k)", "result"),
    "a constant": ("y[2] = ADD(k:const[2], x[2])", "constant"),
    "a variable": ("y[2] = CUSTOM.Op(k:variable[2], x[2])", "input"),
    "a constant without elements": ("y[0] = ADD(k:const[0], x[0])", "constant"),
    "an input without elements": ("y[0] = ABS(k[0])", "input"),
    "an input that may have no elements": ("y[0,?] = ABS(k[0,?])", "input"),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_value_is_an_input_a_constant_or_a_result(name: str) -> None:
    text, kind = KINDS[name]
    assert value(graph_of(text), "k").kind == kind


LOOPED = """
y[2] = IF(c:bool[], x[2], then=yes, else=no)
z[2] = NEG(y)
n:int32[], w[2] = WHILE(i:int32[], x[2], cond=test, body=turn)
subgraph yes(x[2]):
t[2] = NEG(x)
subgraph no(x[2]):
t[2] = ABS(x)
subgraph test(i:int32[], x[2]) -> b:
b:bool[] = LESS(i, c:const:int32[]{3})
subgraph turn(i:int32[], x[2]) -> j, t:
j:int32[] = ADD(i, c:const:int32[]{1})
t[2] = NEG(x)
subgraph alone(x[2]):
t[2] = NEG(x)
"""


def test_a_subgraph_is_called_by_what_runs_it() -> None:
    graphs = engine.load(model(LOOPED)).graphs
    assert [graph.path for graph in graphs] == [
        "main", "main/IF#0.then", "main/IF#0.else", "main/WHILE#2.cond", "main/WHILE#2.body", "subgraph 5",
    ]  # fmt: skip


def test_a_graph_says_what_it_reads_and_returns() -> None:
    graph = graph_of("a[2] = ABS(x[2])\ny[2] = ADD(a, z[2])\nb[2] = NEG(a)", outputs=["y", "b"], metadata={"m": b"x"})
    assert [each.name for each in graph.inputs] == ["x", "z"]
    assert sorted(each.name for each in graph.outputs) == ["b", "y"]
    assert graph.metadata[-1:] == ("m",)
    assert [(node.op, at) for node, at in value(graph, "a").reads] == [("ADD", 0), ("NEG", 0)]
    assert value(graph, "y").producer is graph.nodes[1]


def test_an_optional_operand_that_is_absent_is_no_value() -> None:
    (node,) = graph_of("y[?,5] = FULLY_CONNECTED(x[?,3], w:const[5,3], )").nodes
    assert [None if operand is None else operand.name for operand in node.operands] == ["x", "w", None]


@pytest.mark.parametrize(
    ("text", "names"), [("y[*] = ABS(x[2])", ["y"]), ("y[2] = ABS(x[2])", []), ("y[] = ABS(x[])", [])]
)
def test_a_result_that_states_no_rank_is_named(text: str, names: list[str]) -> None:
    assert [each.name for each in graph_of(text).without_rank] == names


def test_the_outputs_of_a_model_are_those_of_its_first_subgraph_in_the_order_of_the_file() -> None:
    text = "y[2] = NEG(x[2])\nz[3] = ABS(w[3])\nsubgraph other(a[5]):\nb[5] = NEG(a)"
    assert [value.name for value in engine.load(model(text, outputs=["z", "y"])).outputs] == ["z", "y"]


NAMES = {
    "all have names": (["first", "second", "third"], ["first", "second", "third"]),
    "none has a name": ([None, None, None], ["main", "subgraph_1", "subgraph_2"]),
    "an empty name is none": (["", "second", ""], ["main", "second", "subgraph_2"]),
}


@pytest.mark.parametrize(("stored", "shown"), NAMES.values(), ids=NAMES)
def test_a_subgraph_without_a_name_has_its_number(stored: list[str | None], shown: list[str]) -> None:
    made = tree("y[2] = IF(c:bool[], x[2], then=yes, else=no)\nsubgraph yes(v[2]):\nt[2] = NEG(v)\n"
                "subgraph no(v[2]):\nt[2] = ABS(v)")  # fmt: skip
    for subgraph, name in zip(made.subgraphs, stored, strict=True):
        subgraph.name = name
    assert list(engine.load(pack(made)).graph_names.values()) == shown

"""Graphs of ONNX models and their bodies: which of them there are, and where a value comes from."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser

from graphfix.checker.files.onnx import graphs as read

INNER = "inner () => (float[2] d) { d = Neg(x) }"
MIDDLE = f"middle () => (float[2] b) {{ w = Identity(v) b = If(c) <then_branch = {INNER}, else_branch = {INNER}>  }}"
LOOP = "turn (int64 t, bool go, float[2] p) => (bool on, float[2] q) { on = Identity(go) k = Add(p, x) q = Relu(k) }"
TEXT = f"""<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
main (float[N,2] x, bool c, float[?] u) => (float[2] y) <float[2] v = {{1, 2}}, float[3,M] h> {{
    h = Abs(x)
    i = If(c) <then_branch = {MIDDLE}, else_branch = last () => (float[2] e) {{ e = Exp(x) }}>
    y, z = Loop<body = {LOOP}>(, , i)
}}
<domain: "own", opset_import: ["" : 17]> f (a) => (b) {{ b = If(a) <then_branch = {INNER}, else_branch = {INNER}> }}"""
NAMES = ["main", "middle", "inner", "inner", "last", "turn"]


@pytest.fixture
def model() -> onnx.ModelProto:
    return parser.parse_model(TEXT)


def test_every_graph_is_the_graph_and_each_body_however_deep(model: onnx.ModelProto) -> None:
    assert sorted(graph.name for graph in read.every_graph(model.graph)) == sorted(NAMES)
    assert next(read.every_graph(model.graph)) is model.graph
    assert [graph.proto.name for graph in read.nested_graphs(model.graph)] == NAMES
    assert [graph.name for graph in read.bodies(model.graph.node)] == ["middle", "last", "turn"]


def test_every_node_is_of_a_graph_a_body_or_a_function(model: onnx.ModelProto) -> None:
    inside = ["Abs", "Add", "Exp", "Identity", "Identity", "If", "If", "Loop", "Neg", "Neg", "Relu"]
    assert sorted(node.op_type for node in read.every_node(model)) == sorted([*inside, "If", "Neg", "Neg"])
    assert sorted(node.op_type for node in read.with_inner_nodes(model.graph.node)) == inside
    assert [node.op_type for node in read.with_inner_nodes(model.graph.node)][:3] == ["Abs", "If", "Loop"]


def test_an_attribute_may_hold_one_body_or_many() -> None:
    one, two = (helper.make_graph([], name, [], []) for name in ("one", "two"))
    found = [[graph.name for graph in read.graphs(helper.make_attribute("a", value))] for value in (one, [one, two], 3)]
    assert found == [["one"], ["one", "two"], []]
    assert [graph.name for graph in read.bodies([helper.make_node("A", [], [], a=[one, two], b=two)])] == [
        "one",
        "two",
        "two",
    ]


def test_a_name_belongs_to_the_nearest_graph_that_defines_it(model: onnx.ModelProto) -> None:
    main, middle, inner, _, _, turn = read.nested_graphs(model.graph)
    homes = {name: inner.home(name) for name in ("d", "w", "v", "x", "h", "p", "")}
    assert homes == {"d": inner, "w": middle, "v": main, "x": main, "h": main, "p": None, "": None}
    assert [turn.home(name) for name in ("p", "k", "t", "u", "d")] == [turn, turn, None, main, None]
    assert turn.actuals == {"p": (main, "i")}
    assert main.home("y") is main.home("z") is main


def test_inputs_of_the_model_are_those_without_a_default(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(numpy_helper.from_array(np.float32([1]), "u"))
    main, *_, turn = read.nested_graphs(model.graph)
    assert [name for name in ("x", "c", "u", "v", "h") if main.is_input(name)] == ["x", "c"]
    assert not any(turn.is_input(name) for name in ("t", "p", "x"))


def test_the_shape_of_a_value_is_the_declared_one_or_that_of_its_elements(model: onnx.ModelProto) -> None:
    model.graph.input[2].type.tensor_type.shape.dim[0].dim_value = -1
    main, middle, *_, turn = read.nested_graphs(model.graph)
    assert {name: main.shape(name) for name in ("x", "c", "u", "v", "h", "i", "nothing")} == {
        "x": (None, 2), "c": (), "u": (None,), "v": (2,), "h": (3, None), "i": None, "nothing": None
    }  # fmt: skip
    assert [middle.shape(name) for name in ("x", "v", "b", "w")] == [(None, 2), (2,), (2,), None]
    assert turn.shape("p") == (2,)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ("y = Constant<value = int64[2] {3, 4}>()", [3, 4]),
        ("y = Constant<value_int = 3>()", 3),
        ("y = Constant<value_ints = [3, 4]>()", [3, 4]),
        ("y = Constant<value_float = 0.5>()", 0.5),
        ("y = Constant<value_floats = [0.5, 1.5]>()", [0.5, 1.5]),
        ('y = Constant<value_string = "a">()', None),
        ("y = Constant<value_int = 3, other = 4>()", None),
        ("y = Other<value_int = 3>()", None),
        ("a = Constant<value_int = 3>() b = Identity(a) y = Identity(b)", 3),
        ("y = Identity(stored)", [5, 6]),
        ("y = Identity(x)", None),
        ("y = Identity(nothing)", None),
        ("y = Neg(stored)", None),
    ],
)
def test_what_is_known_of_a_value(node: str, expected: object) -> None:
    text = f"g (int64 x) => (int64 y) <int64[2] stored = {{5, 6}}> {{ {node} }}"
    (graph,) = read.nested_graphs(parser.parse_graph(text))
    found = read.constant(graph, "y")
    assert (None if found is None else found.tolist()) == expected
    assert found is None or found.dtype == (np.float32 if "float" in node else np.int64)


def test_an_integer_attribute_has_a_default() -> None:
    node = helper.make_node("A", [], [], axis=0, other=3)
    assert [read.integer_attribute(node, name, 7) for name in ("axis", "other", "none")] == [0, 3, 7]


def test_a_prefix_is_lengthened_until_no_name_begins_with_it(model: onnx.ModelProto) -> None:
    assert read.unused_prefix(model.graph, "new") == "new"
    for name in ("x", "v", "h", "d", "go", "turn"):
        taken = read.unused_prefix(model.graph, name)
        assert taken == (name if name == "turn" else f"{name}_")
    model.graph.node[0].output[0] = "x_1"
    assert read.unused_prefix(model.graph, "x") == "x__"

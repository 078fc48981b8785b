"""Nodes of older opsets in newer forms, one at a time."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from onnx import FunctionProto, GraphProto, NodeProto, TensorProto, helper, numpy_helper

from graphfix.formats.onnx.infer.analysis import analyse
from graphfix.formats.onnx.opset.converted_graph import ConvertedGraph
from graphfix.formats.onnx.opset.operators import _as_operand
from graphfix.formats.onnx.opset.to_8 import standard_version


def converted(version: int, *nodes: NodeProto) -> ConvertedGraph:
    """A graph while its nodes are converted from this opset."""
    return ConvertedGraph(GraphProto(node=nodes), None, 8, version, lambda stem: f"{stem}_", set(), lambda _: None)


@pytest.mark.parametrize(("version", "converts"), [(1, True), (12, True), (13, False), (17, False)])
def test_an_attribute_becomes_an_operand_before_the_opset_in_which_it_is_one(version: int, *, converts: bool) -> None:
    graph = converted(version, helper.make_node("Squeeze", ["x"], ["y"], axes=[1, 2]))
    node = graph.holder.node[0]
    _as_operand("axes")(node, graph)
    assert list(node.input) == (["x", "axes_"] if converts else ["x"])
    assert len(node.attribute) == (0 if converts else 1)
    assert [(tensor.name, list(tensor.dims)) for tensor in graph.holder.initializer] == [("axes_", [2])] * converts


def test_an_attribute_that_is_left_out_becomes_no_operand() -> None:
    graph = converted(12, helper.make_node("Squeeze", ["x"], ["y"]))
    _as_operand("axes")(graph.holder.node[0], graph)
    assert list(graph.holder.node[0].input) == ["x"]


def test_a_new_node_stands_in_front_of_the_one_that_is_converted_or_behind_it() -> None:
    graph = converted(12, helper.make_node("A", ["x"], ["y"]), helper.make_node("B", ["y"], ["z"]))
    graph.at = 1
    graph.add(helper.make_node("Behind", ["z"], ["w"]), behind=True)
    graph.add(helper.make_node("Front", ["y"], ["v"]))
    assert graph.constant("c", np.asarray([1], np.int64)) == "c_"
    graph.place()
    assert [node.op_type for node in graph.holder.node] == ["A", "Front", "B", "Behind"]


def test_new_nodes_of_several_places_stand_each_beside_its_own() -> None:
    graph = converted(12, *(helper.make_node(op, ["x"], [op]) for op in "ABCD"))
    for at in (3, 0, 2):
        graph.at = at
        graph.add(helper.make_node(f"behind{at}", ["x"], [f"w{at}"]), behind=True)
        graph.add(helper.make_node(f"front{at}", ["x"], [f"v{at}"]))
        graph.add(helper.make_node(f"next{at}", ["x"], [f"u{at}"]))
    graph.place()
    order = "front0 next0 A behind0 B front2 next2 C behind2 front3 next3 D behind3"
    assert " ".join(node.op_type for node in graph.holder.node) == order


@pytest.mark.parametrize("holder", [GraphProto(), FunctionProto()], ids=["a graph of old", "a function"])
def test_where_no_initializer_can_be_a_constant_is_a_node_in_front_of_all(holder: GraphProto | FunctionProto) -> None:
    for op in ("A", "B"):
        holder.node.add(op_type=op)
    graph = ConvertedGraph(holder, None, 3, 12, lambda stem: f"{stem}_", set(), lambda _: None)
    graph.add(helper.make_node("First", [], ["u"]))
    graph.at = 1
    graph.add(helper.make_node("Front", ["c_"], ["v"]))
    assert graph.constant("c", np.asarray([1], np.int64)) == "c_"
    graph.place()
    assert [(node.op_type, list(node.output)) for node in holder.node] == [
        ("Constant", ["c_"]),
        ("First", ["u"]),
        ("A", []),
        ("Front", ["v"]),
        ("B", []),
    ]
    assert holder.node[0].name == "c_"


@pytest.mark.parametrize(("ir", "nodes"), [(3, 1), (4, 0)])
def test_since_ir_version_4_a_constant_is_an_initializer(ir: int, nodes: int) -> None:
    graph = ConvertedGraph(GraphProto(), None, ir, 12, lambda stem: f"{stem}_", set(), lambda _: None)
    graph.constant("c", np.asarray([1], np.int64))
    graph.place()
    assert (len(graph.holder.node), len(graph.holder.initializer)) == (nodes, 1 - nodes)


def test_what_has_the_same_bits_type_and_shape_is_one_constant() -> None:
    numbers = count()
    graph = ConvertedGraph(GraphProto(), None, 8, 12, lambda stem: f"{stem}{next(numbers)}", set(), lambda _: None)
    zeros = [np.zeros(2, np.int64), np.zeros(2, np.uint64), np.zeros((1, 2), np.int64), np.zeros(2, np.int64)]
    assert [graph.constant("c", each) for each in zeros] == ["c0", "c1", "c2", "c0"]
    negative = np.asarray([-0.0], np.float32)
    assert graph.constant("z", negative) != graph.constant("z", np.zeros(1, np.float32))


def reading(tensor: TensorProto) -> np.ndarray | None:
    return None if tensor.data_location == TensorProto.EXTERNAL else numpy_helper.to_array(tensor)


def test_the_elements_of_a_constant_of_the_graph_are_known_and_no_others() -> None:
    tensors = [
        numpy_helper.from_array(np.asarray([[1, 2]], np.int64), name) for name in ("made", "held", "given", "far")
    ]
    tensors[3].data_location = TensorProto.EXTERNAL
    made = helper.make_node("Constant", [], ["k"], value=tensors[0])
    computed = helper.make_node("Neg", ["x"], ["n"])
    graph = GraphProto(node=[made, computed], initializer=tensors[1:])
    for name in ("x", "given"):
        graph.input.add(name=name)
    names = ("k", "held", "given", "far", "n", "x")
    found = ConvertedGraph(graph, None, 8, 12, str, set(), reading)
    assert [found.elements(name) for name in names] == [[1, 2], [1, 2], None, None, None, None]
    inside = ConvertedGraph(FunctionProto(node=[made, computed]), None, 8, 12, str, set(), reading)
    assert [inside.elements(name) for name in names] == [[1, 2], None, None, None, None, None]


def test_without_an_analysis_nothing_is_known_of_a_value() -> None:
    graph = converted(12)
    assert (graph.dims("x"), graph.dtype("x")) == (None, 0)


def test_a_size_that_is_no_number_is_not_known() -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT16, [2, "N", 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT16, None)
    proto = helper.make_model(helper.make_graph([helper.make_node("My", ["x"], ["y"], domain="my")], "g", [x], [y]))
    graph = ConvertedGraph(proto.graph, analyse(proto, {}).main, 8, 12, str, set(), lambda _: None)
    assert (graph.dims("x"), graph.dtype("x")) == ((2, None, 3), TensorProto.FLOAT16)
    assert graph.dims("y") is None


def test_the_version_of_the_standard_operators_is_1_where_nothing_else_is_said() -> None:
    other, own = helper.make_opsetid("my", 4), helper.make_opsetid("", 9)
    assert standard_version([other, own]) == 9
    assert standard_version([other]) == 1
    assert standard_version([other], 7) == 7
    assert standard_version([helper.make_opsetid("ai.onnx", 11)], 7) == 11

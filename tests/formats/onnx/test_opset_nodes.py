"""Nodes of older opsets in newer forms, one at a time."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import GraphProto, NodeProto, helper

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


def test_the_version_of_the_standard_operators_is_1_where_nothing_else_is_said() -> None:
    other, own = helper.make_opsetid("my", 4), helper.make_opsetid("", 9)
    assert standard_version([other, own]) == 9
    assert standard_version([other]) == 1
    assert standard_version([other], 7) == 7
    assert standard_version([helper.make_opsetid("ai.onnx", 11)], 7) == 11

"""What a decided branch says of its values where the graph around says it too, and in a function."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import GraphProto, NodeProto, helper, numpy_helper

from tests.support.named import rules
from tests.support.notation import parsed
from tests.support.onnx.fixing import fixed

RULES = rules("inline-decided-branches", "fold-shape-arithmetic")


def info(name: str, *sizes: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, sizes)


def decided(result: str, sparse: bool = False) -> NodeProto:
    """An If whose first branch is taken: t = Abs(u), u = Neg(x) or x + few."""
    first = helper.make_node("Add", ["x", "few"], ["u"]) if sparse else helper.make_node("Neg", ["x"], ["u"])
    then = helper.make_graph([first, helper.make_node("Abs", ["u"], ["t"])], "yes", [], [info("t", 2, 3)])
    if sparse:
        values, places = numpy_helper.from_array(np.float32([5]), "few"), numpy_helper.from_array(np.int64([4]))
        then.sparse_initializer.append(helper.make_sparse_tensor(values, places, [2, 3]))
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "no", [], [info("e", 2, 3)])
    return helper.make_node("If", ["c"], [result], then_branch=then, else_branch=other)


def branch_of(node: NodeProto) -> GraphProto:
    return next(held.g for held in node.attribute if held.name == "then_branch")


def whole(*nodes: NodeProto, output: str = "y") -> onnx.ModelProto:
    condition = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.array(True)))
    graph = helper.make_graph([condition, *nodes], "g", [info("x", 2, 3)], [info(output, 2, 3)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def test_what_the_graph_around_says_already_is_not_said_twice() -> None:
    node = decided("a")
    branch_of(node).value_info.extend([info("t", 2, 3), info("u", 2, 3)])
    for name in "tu":
        branch_of(node).quantization_annotation.add(tensor_name=name)
    proto = whole(node, helper.make_node("Neg", ["a"], ["y"]))
    proto.graph.value_info.append(info("a", 2, 3))
    proto.graph.quantization_annotation.add(tensor_name="a")
    after = fixed(proto, rewrites=RULES).after.graph
    assert Counter(each.name for each in after.value_info) == {"a": 1, "u": 1}
    assert Counter(each.tensor_name for each in after.quantization_annotation) == {"a": 1, "u": 1}


def test_the_shape_of_an_output_is_said_by_the_output_alone() -> None:
    node = decided("y")
    branch_of(node).value_info.extend([info("t", 2, 3), info("u", 2, 3)])
    branch_of(node).quantization_annotation.add(tensor_name="t")
    after = fixed(whole(node), rewrites=RULES).after.graph
    assert [each.name for each in after.value_info] == ["u"]
    assert [each.tensor_name for each in after.quantization_annotation] == ["y"]


@pytest.mark.parametrize("ir", [3, 8])
def test_sparse_constants_of_two_branches_keep_apart(ir: int) -> None:
    proto = whole(decided("a", sparse=True), decided("b", sparse=True), helper.make_node("Add", ["a", "b"], ["y"]))
    proto.ir_version = ir
    after = fixed(proto, rewrites=RULES).after.graph
    stated = [node.output[0] for node in after.node if node.op_type == "Constant"]
    kept = stated if ir < 4 else [each.values.name for each in after.sparse_initializer]
    read = [node.input[1] for node in after.node if node.op_type == "Add" and "x" in node.input]
    assert len(set(kept)) == 2
    assert sorted(kept) == sorted(read)
    assert (len(stated), len(after.sparse_initializer)) == ((2, 0) if ir < 4 else (0, 2))


def test_what_a_branch_in_a_function_says_of_its_values_goes_with_it() -> None:
    proto = parsed("""main (float[2,3] x) => (float[2,3] y) { y = local.f(x) }
        <domain: "local", opset_import: ["" : 18]> f (x) => (r) {
            c = Constant <value = bool {1}> ()
            r = Abs(x) }""")
    node = decided("r", sparse=True)
    branch_of(node).value_info.append(info("u", 2, 3))
    proto.functions[0].node[1].CopyFrom(node)
    (function,) = fixed(proto, rewrites=RULES).after.functions
    ops = [each.op_type for each in function.node]
    assert ops[-3:] == ["Constant", "Add", "Abs"]
    assert [held.name for held in function.node[-3].attribute] == ["sparse_value"]
    assert not function.value_info


def test_a_quantization_note_follows_lifts_and_stretches_and_no_sizes() -> None:
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "b"], ["y"])],
        "g",
        [
            helper.make_tensor_value_info("x", 1, ["N", "M"]),
            helper.make_tensor_value_info("b", 1, ["M"]),
        ],
        [helper.make_tensor_value_info("y", 1, ["N", "M"])],
    )
    for name in "xb":
        graph.quantization_annotation.add(tensor_name=name)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    after = fixed(proto, target="explicit").after.graph
    makers = {node.output[0]: node.op_type for node in after.node}
    noted = [each.tensor_name for each in after.quantization_annotation]
    assert len(noted) == len(set(noted))
    assert {makers.get(name, "an input") for name in noted} == {"an input", "Unsqueeze", "Expand"}
    assert "Shape" in makers.values()

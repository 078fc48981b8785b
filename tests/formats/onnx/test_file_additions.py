"""What is added while a model is written is what messages of it would have been."""

from __future__ import annotations

import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

import graphfix
from graphfix.formats.onnx.edit.records import bytes_of, records, text_of, value_info_head
from graphfix.formats.onnx.file.additions import Additions
from graphfix.graph.view import Graph, Node, Value
from tests.support.onnx.files import field
from tests.support.shape_dialect import of


def skeleton(*, value_infos: bool) -> ModelProto:
    """A model a -> b -> c, with a field that onnx does not know behind all others."""
    value = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "abc"}
    nodes = [helper.make_node("Neg", ["a"], ["b"], "n" * 200), helper.make_node("Abs", ["b"], ["c"])]
    graph = helper.make_graph(nodes, "g", [value["a"]], [value["c"]], value_info=[value["b"]] if value_infos else [])
    graph.initializer.append(helper.make_tensor("k", TensorProto.FLOAT, [1], [1.0]))
    graph.quantization_annotation.add(tensor_name="a")
    model = helper.make_model(graph)
    model.graph.MergeFromString(field(99, b"unknown"))
    return model


@pytest.mark.parametrize("value_infos", [False, True])
def test_woven_bytes_are_those_of_messages(*, value_infos: bool) -> None:
    graph = Graph("main")
    operand = Value("ä", of(2), "float32", "input", graph)
    result = Value("é" * 100, of(2), "float32", "result", graph, None, -1)
    old = [Node("Neg", "", 1, "", at, graph, (operand,), (), {}, None) for at in range(2)]
    attributes = {"axes": [1, 2], "text": "t"}
    new = Node("Made", "some.domain", 1, "made é" * 40, -1, graph, (operand, None), (result,), attributes, None)
    declared = helper.make_tensor_value_info("d" * 300, TensorProto.FLOAT, ["N", 2])
    unnamed = text_of(onnx.ValueInfoProto(type=declared.type).SerializeToString())
    order = [old[0], new, old[1], new]
    info = f"{value_info_head(len(declared.name), unnamed)}{declared.name}{unnamed}"
    added = Additions(lambda: records(order, {}), bytes_of(info))

    wanted = skeleton(value_infos=value_infos)
    message = helper.make_node("Made", ["ä", ""], [result.name], new.name, domain="some.domain", **attributes)
    first, second = list(wanted.graph.node)
    expected = [first, message, second, message]
    copies = [onnx.NodeProto.FromString(each.SerializeToString()) for each in expected]
    del wanted.graph.node[:]
    wanted.graph.node.extend(copies)
    wanted.graph.value_info.append(declared)
    woven = added.woven(skeleton(value_infos=value_infos).SerializeToString(deterministic=True))
    assert woven == wanted.SerializeToString(deterministic=True)


@pytest.mark.parametrize("attributes", [{}, {"axis": -1}], ids=["plain", "attributes"])
@pytest.mark.parametrize("results", [["made"], ["other"], ["é"], ["x" * 130], ["made", "too"], []])
@pytest.mark.parametrize("name", ["made", "é", "x" * 130])
def test_a_record_is_that_of_the_message_whatever_the_names(
    name: str, results: list[str], attributes: dict[str, int]
) -> None:
    graph = Graph("main")
    operands = [Value(each, of(2), "float32", "input", graph) for each in ("a", "ä", "b" * 200)]
    made = [Value(each, of(2), "float32", "result", graph, None, -1) for each in results]
    node = Node("Made", "", 1, name, -1, graph, (operands[0], None, *operands[1:]), tuple(made), attributes, None)
    ascii_only = Node("Made", "", 1, name, -1, graph, (operands[0],), tuple(made), attributes, None)
    for new in (node, ascii_only):
        read = ["" if value is None else value.name for value in new.operands]
        message = helper.make_node("Made", read, results, name, **attributes)
        (record,) = [each for each in records([new], {}) if each is not None]
        assert onnx.GraphProto.FromString(record).node[0] == message
        assert record == onnx.GraphProto(node=[message]).SerializeToString(deterministic=True)


@pytest.mark.parametrize("name", ["b", "é", "b" * 130])
def test_what_is_made_is_declared_by_its_name(name: str) -> None:
    shapes = {"x": [2, 3, 4], name: [4], "y": [2, 3, 4]}
    values = {each: helper.make_tensor_value_info(each, TensorProto.FLOAT, shape) for each, shape in shapes.items()}
    node = helper.make_node("Add", ["x", name], ["y"], "add")
    graph = helper.make_graph([node], "g", [values["x"], values[name]], [values["y"]])
    model = graphfix.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    graphfix.fix(model)
    written = onnx.load_from_string(model.tobytes()).graph
    declared = {info.name: [size.dim_value for size in info.type.tensor_type.shape.dim] for info in written.value_info}
    assert declared == {f"{name}_lifted": [1, 1, 4], f"{name}_lifted_stretched": [2, 3, 4]}


def test_a_model_that_was_written_is_edited_on() -> None:
    shapes = {"x": [2, 3, 4], "b": [4], "y": [2, 3, 4]}
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()}
    node = helper.make_node("Add", ["x", "b"], ["y"], "add")
    graph = helper.make_graph([node], "g", [values["x"], values["b"]], [values["y"]])
    model = graphfix.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    graphfix.fix(model, target="ranks")
    lifted = model.tobytes()
    assert model.tobytes() == lifted
    graphfix.fix(model)
    twice = onnx.load_from_string(model.tobytes())
    assert [each.op_type for each in onnx.load_from_string(lifted).graph.node] == ["Reshape", "Add"]
    assert [each.op_type for each in twice.graph.node] == ["Reshape", "Expand", "Add"]
    onnx.checker.check_model(twice, full_check=True)

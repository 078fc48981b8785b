"""Facts about model files for the HTML report: bytes with data files, nodes with bodies, operator sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from graphfix.api import pipeline
from graphfix.engine.request import Request
from graphfix.formats.file_facts import file_facts
from graphfix.results import FileFacts
from tests.support.places import MODELS


def model(*imports: tuple[str, int]) -> onnx.ModelProto:
    """A model of an If with a node in each branch, and a function of two nodes that is called once."""
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("y", "z")]
    branches = {
        name: helper.make_graph([helper.make_node("Neg", ["x"], [out])], name, [], [value[at]])
        for at, (name, out) in enumerate((("then_branch", "y"), ("else_branch", "z")))
    }
    nodes = [helper.make_node("If", ["c"], ["a"], **branches), helper.make_node("F", ["a"], ["b"], domain="own")]
    function = helper.make_function(
        "own", "F", ["i"], ["o"],
        [helper.make_node("Neg", ["i"], ["h"]), helper.make_node("Abs", ["h"], ["o"])],
        [helper.make_opsetid("", 17)],
    )  # fmt: skip
    inputs = [
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
    ]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("b", TensorProto.FLOAT, [2])])
    opsets = [helper.make_opsetid(domain, version) for domain, version in imports]
    return helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=10)


@pytest.mark.parametrize(
    ("imports", "text"),
    [
        ((("", 17), ("own", 1)), "17, own 1"),
        ((("own", 1), ("ai.onnx", 18), ("com.microsoft", 2)), "18, com.microsoft 2, own 1"),
    ],
)
def test_nodes_of_bodies_and_functions_are_counted(
    tmp_path: Path, imports: tuple[tuple[str, int], ...], text: str
) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model(*imports), path)
    assert file_facts(path) == FileFacts(path.stat().st_size, 6, text)


def test_data_files_belong_to_the_size(tmp_path: Path) -> None:
    path, weight = tmp_path / "m.onnx", numpy_helper.from_array(np.zeros(1000, np.float32), "w")
    node = helper.make_node("Add", ["x", "w"], ["y"])
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1000]) for name in "xy"]
    graph = helper.make_graph([node], "g", value[:1], value[1:], [weight])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    onnx.save(made, path, save_as_external_data=True, location="m.data", size_threshold=0)
    facts = file_facts(path)
    assert (tmp_path / "m.data").stat().st_size >= 4000
    assert facts == FileFacts(path.stat().st_size + (tmp_path / "m.data").stat().st_size, 1, "17")


def test_a_tflite_file_has_the_operators_of_all_subgraphs() -> None:
    path = MODELS / "bodies" / "while.tflite"
    facts = file_facts(path)
    assert facts.size == path.stat().st_size
    assert facts.nodes is not None
    assert facts.nodes > 1
    assert facts.operator_sets == ""


def test_of_a_file_that_is_no_model_the_size_is_all(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"\x08\x0a")
    assert file_facts(path) == FileFacts(2)


@pytest.mark.parametrize("name", ["encoder.onnx", "rfc_rank_expansion.tflite"])
def test_outcomes_have_the_facts_that_a_drawn_report_needs(tmp_path: Path, name: str) -> None:
    source, output = MODELS / name, tmp_path / name
    drawn = Request(excerpt=True, proof="only")
    fixed = pipeline.fix_file(source, output, drawn)
    before, after = map(file_facts, (source, output))
    assert before != after
    assert list(fixed.files) == [before, after]
    assert list(pipeline.check(source, drawn).files) == [before]
    assert list(pipeline.plan_file(source, None, drawn).files) == [before]
    assert list(pipeline.verify(source, output, drawn).files) == [before, after]
    assert list(pipeline.fix_file(source, output, Request(proof="only")).files) == []

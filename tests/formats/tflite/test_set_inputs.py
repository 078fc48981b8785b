"""Inputs that are taken for constants: who reads them then, and what becomes of the inputs in graph and signatures."""

from __future__ import annotations

import numpy as np
import pytest

from graphfix.formats.tflite.file.container import Container, read
from graphfix.formats.tflite.set_inputs import drop, set_inputs, shapes_of
from graphfix.results import GraphfixError
from models.builders.tflite.text import Signature, model
from tests.support.tflite.flat_files import unpacked

TEXT = """y[2,3] = MUL(x[2,3], k[])
z[2,3] = ADD(y, k)
w[2,3] = NEG(x)
subgraph other(k[2]):
t[2] = NEG(k)"""
SIGNATURES = {
    "serve": Signature("main", {"in": "x", "factor": "k"}, {"out": "z"}),
    "again": Signature("main", {"k": "k"}, {"out": "w"}),
    "other": Signature("other", {"a": "k"}, {"b": "t"}),
}


def opened() -> Container:
    return read(model(TEXT, signatures=SIGNATURES, outputs=["z", "w"]))


def read_by(container: Container) -> list[list[str]]:
    main = container.subgraphs[0]
    return [[main.tensors[at].name for at in operator.inputs] for operator in main.operators]


def test_every_reader_of_the_main_subgraph_reads_the_constant_and_no_other_operator_is_changed() -> None:
    container = opened()
    set_inputs(container, {"factor": 2.5})
    assert read_by(container) == [["x", "factor_value"], ["y", "factor_value"], ["x"]]
    assert [operator.changed for operator in container.subgraphs[0].operators] == [True, True, False]
    assert [graph.changed for graph in container.subgraphs] == [True, False]
    tensor = container.subgraphs[0].tensors[-1]
    assert (tensor.shape, tensor.signature, tensor.has_rank) == ((), None, True)
    assert container.data(tensor.buffer) == np.float32(2.5).tobytes()


def test_a_name_that_is_taken_gets_a_line_behind_it_as_often_as_needed() -> None:
    container = opened()
    main = container.subgraphs[0]
    main.tensors[2].name, main.tensors[3].name = "factor_value", "factor_value_"
    set_inputs(container, {"factor": 2.5})
    assert main.tensors[-1].name == "factor_value__"


def test_a_value_has_the_shape_that_the_input_declares() -> None:
    assert shapes_of(opened(), {"factor": 2.5}) == {"factor": []}
    with pytest.raises(GraphfixError, match="--set other: no such input; inputs: "):
        shapes_of(opened(), {"other": 2.5})


def test_a_dropped_input_goes_from_the_main_subgraph_and_from_the_signatures_of_that() -> None:
    container = opened()
    set_inputs(container, {"factor": 2.5})
    drop(container, {"factor": 2.5})
    assert container.subgraphs[0].inputs == (0,)
    assert [signature.inputs for signature in container.signatures] == [(("in", 0),), (), (("a", 0),)]
    assert [graph.changed for graph in container.subgraphs] == [True, False]
    made = unpacked(container.tobytes())
    assert [list(graph.inputs) for graph in made.subgraphs] == [[0], [0]]
    stored = {
        each.signatureKey: [(entry.name, entry.tensorIndex) for entry in each.inputs or ()]
        for each in made.signatureDefs
    }
    assert stored == {b"serve": [(b"in", 0)], b"again": [], b"other": [(b"a", 0)]}
    outputs = [(each.subgraphIndex, [entry.name for entry in each.outputs]) for each in made.signatureDefs]
    assert outputs == [(0, [b"out"]), (0, [b"out"]), (1, [b"b"])]


def test_dropping_alone_changes_the_main_subgraph() -> None:
    container = opened()
    drop(container, {"in": 1.0})
    assert [graph.changed for graph in container.subgraphs] == [True, False]
    *_, other = unpacked(container.tobytes()).signatureDefs
    assert [(entry.name, entry.tensorIndex) for entry in other.inputs] == [(b"a", 0)]
    assert container.signatures[2].inputs == (("a", 0),)  # tensor 0 of another subgraph


def test_an_input_that_is_an_output_as_well_can_not_be_dropped() -> None:
    container = read(model("y[2] = ADD(x[2], k[2])", outputs=["y", "k"]))
    with pytest.raises(GraphfixError, match="the input 'k' is an output as well; leave it out"):
        drop(container, {"k": 1.0})
    assert len(container.subgraphs[0].inputs) == 2

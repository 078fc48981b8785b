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


ONES = (1.0,) * 6


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
    with pytest.raises(GraphfixError, match="--set other: there is no input 'other'; inputs: "):
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


def test_two_names_of_one_input_are_refused() -> None:
    with pytest.raises(GraphfixError, match=r"--set: x and in are names of one input; set it once"):
        set_inputs(opened(), {"x": ONES, "in": ONES})


def test_two_inputs_become_two_constants() -> None:
    container = opened()
    set_inputs(container, {"in": ONES, "factor": 2.5})
    assert read_by(container) == [["in_value", "factor_value"], ["y", "factor_value"], ["in_value"]]
    assert sorted(container.given) == [0, 1]
    drop(container, {"factor": 2.5, "in": 1.0})
    assert container.subgraphs[0].inputs == ()
    assert [signature.inputs for signature in container.signatures] == [(), (), (("a", 0),)]


SHAPES = {
    "a free size": ("y[?,1] = NEG(x[?,1])", (5, 1)),
    "an unknown rank": ("y[*] = NEG(x[*])", (5,)),
    "what is declared": ("y[5] = NEG(x[5])", (5,)),
}


@pytest.mark.parametrize(("text", "dims"), SHAPES.values(), ids=SHAPES)
def test_a_value_decides_what_the_input_leaves_open(text: str, dims: tuple[int, ...]) -> None:
    container = read(model(text))
    numbers = (1.0,) * 5
    assert shapes_of(container, {"x": numbers}) == {"x": list(dims)}
    set_inputs(container, {"x": numbers})
    tensor = container.subgraphs[0].tensors[-1]
    assert (tensor.name, tensor.shape, tensor.has_rank, tensor.signature) == ("x_value", dims, True, None)
    assert container.subgraphs[0].operators[0].inputs == (len(container.subgraphs[0].tensors) - 1,)


def test_a_value_of_another_size_than_is_declared_is_refused() -> None:
    with pytest.raises(GraphfixError, match="--set x"):
        set_inputs(read(model("y[3] = NEG(x[3])")), {"x": (1.0,) * 4})


def test_whole_numbers_are_stored_with_their_lowest_byte_first() -> None:
    container = read(model("y:int32[2] = NEG(x:int32[2])"))
    set_inputs(container, {"x": (1, 2)})
    assert bytes(container.data(container.subgraphs[0].tensors[-1].buffer)) == bytes([1, 0, 0, 0, 2, 0, 0, 0])

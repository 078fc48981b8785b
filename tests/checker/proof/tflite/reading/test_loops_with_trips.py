"""The loops whose trips take their place: each trip has to pass its values on, in memory of their own."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from graphfix.checker.files.tflite.file import read
from graphfix.checker.proof.tflite.reading.control_flow import _carries
from models.builders.tflite.text import model

if TYPE_CHECKING:
    from graphfix.checker.files.tflite.records import Model, Subgraph

LOOP = """subgraph main(x[2], z[2], m:int32[]):
n:int32[], p[2], q[2] = WHILE(m, x, z, cond=test, body=turn)
y[2] = SUB(p, q)
subgraph test(i:int32[], v[2], w[2]) -> b:
b:bool[] = LESS(i, c:const:int32[]{3})
subgraph turn(i:int32[], v[2], w[2]) -> j, t, w:
j:int32[] = ADD(i, c:const:int32[]{1})
t[2] = NEG(v)"""
TYPES = {
    "as it is": ("x[2]", "x[2]", True),
    "an operand": ("x[2]", "x:int32[2]", False),
    "a result": ("p[2]", "p:int32[2]", False),
    "an input of the test": ("test(i:int32[], v[2]", "test(i:int32[], v:int32[2]", False),
    "an input of the body": ("turn(i:int32[], v[2]", "turn(i:int32[], v:int32[2]", False),
    "a result of the body": ("t[2] = NEG", "t:int32[2] = NEG", False),
    "the result of the test": ("b:bool[]", "b:int32[]", False),
    "two results of the test": ("-> b:", "-> b, b2:\nb2:bool[] = LESS(i, i)", False),
    "a value twice": ("-> j, t, w", "-> j, t, t", False),
    "two values at each other's place": ("-> j, t, w", "-> j, w, v", False),
    "a value at its own place": ("-> j, t, w", "-> j, v, t", True),
}


def loop(path: Path, text: str) -> Model:
    path.write_bytes(model(text))
    with ExitStack() as stack:
        return read(path, stack)[0]


def carries(whole: Model) -> bool:
    graph = whole.subgraphs[0]
    return _carries(whole, graph, graph.operators[0])


@pytest.mark.parametrize("name", TYPES)
def test_a_trip_passes_on_values_of_one_type(name: str, tmp_path: Path) -> None:
    old, new, expected = TYPES[name]
    assert old in LOOP
    assert carries(loop(tmp_path / "m.tflite", LOOP.replace(old, new, 1))) is expected


def with_graph(whole: Model, index: int, graph: Subgraph) -> Model:
    graphs = list(whole.subgraphs)
    graphs[index] = graph
    return replace(whole, subgraphs=tuple(graphs))


@pytest.mark.parametrize("index", [1, 2])
def test_an_input_that_is_a_constant_is_not_passed_on(index: int, tmp_path: Path) -> None:
    whole = loop(tmp_path / "m.tflite", LOOP)
    graph = whole.subgraphs[index]
    held = next(tensor.payload for tensor in graph.tensors if tensor.payload is not None)
    tensors = list(graph.tensors)
    tensors[graph.inputs[1]] = tensors[graph.inputs[1]]._replace(payload=held)
    assert not carries(with_graph(whole, index, replace(graph, tensors=tuple(tensors))))


def test_an_input_twice_is_not_passed_on(tmp_path: Path) -> None:
    whole = loop(tmp_path / "m.tflite", LOOP.replace("-> j, t, w", "-> j, t, u") + "\nu[2] = ABS(w)")
    assert carries(whole)
    body = whole.subgraphs[2]
    count, first, _ = body.inputs
    assert not carries(with_graph(whole, 2, replace(body, inputs=(count, first, first))))


def test_an_operand_that_is_not_given_is_not_passed_on(tmp_path: Path) -> None:
    whole = loop(tmp_path / "m.tflite", LOOP)
    main = whole.subgraphs[0]
    first, *rest = main.operators
    cut = first._replace(inputs=(-1, *first.inputs[1:]))
    assert not carries(with_graph(whole, 0, replace(main, operators=(cut, *rest))))


@pytest.mark.parametrize("key", ["condSubgraphIndex", "bodySubgraphIndex"])
@pytest.mark.parametrize("index", [None, -1, 0, 3])
def test_a_loop_runs_two_other_subgraphs_of_the_file(key: str, index: int | None, tmp_path: Path) -> None:
    whole = loop(tmp_path / "m.tflite", LOOP)
    main = whole.subgraphs[0]
    first, *rest = main.operators
    found = {name: at for name, at in first.bodies if name != key} | ({} if index is None else {key: index})
    other = first._replace(bodies=tuple(found.items()))
    assert not carries(with_graph(whole, 0, replace(main, operators=(other, *rest))))

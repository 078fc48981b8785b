"""Which shapes LiteRT is asked about: those of a static model, on a copy in which what operators compute is wrong."""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import flatbuffers
import pytest
from ai_edge_litert import schema_py_generated as schema

from graphfix.checker.files.tflite.file import GRAPH_TENSORS, MODEL_SUBGRAPHS, TENSOR_SHAPE
from graphfix.checker.files.tflite.tables import Tables
from graphfix.checker.runs.tflite import allocated_shapes


@pytest.mark.parametrize(
    ("bindings", "shapes", "expected"),
    [
        ({}, {}, None),
        ({"x[1]": 5}, {}, None),
        ({"y[0]": 6}, {}, None),
        ({"x[1]": 5, "y[0]": 6}, {}, {2: (3, 5), 1: (6,)}),
        ({"y[0]": 6}, {"x": (7, 8)}, {2: (7, 8), 1: (6,)}),
        ({"x[0]": 4, "x[1]": 5}, {"y": (9,)}, {2: (4, 5), 1: (9,)}),
    ],
)
def test_every_input_has_a_size_along_each_axis(
    bindings: Mapping[str, int],
    shapes: Mapping[str, Sequence[int]],
    expected: Mapping[int, tuple[int, ...]] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = SimpleNamespace(inputs=(2, 1), names=("c", "y", "x"), shapes=((4,), (None,), (3, None)))
    monkeypatch.setattr(allocated_shapes, "read_graphs", lambda _: (graph, None))
    assert allocated_shapes._inputs(Path("m.tflite"), bindings, shapes) == expected


def written(path: Path, *shapes: Sequence[int]) -> Path:
    """A model with two subgraphs: in each one operator computes the tensors 1 and 2 of such shapes from 0 and 3."""
    model = schema.ModelT()
    model.version, model.buffers, model.operatorCodes = 3, [schema.BufferT()], [schema.OperatorCodeT()]
    model.subgraphs = []
    for sizes in (shapes, shapes[::-1]):
        graph, operator = schema.SubGraphT(), schema.OperatorT()
        graph.tensors = []
        for each in sizes:
            tensor = schema.TensorT()
            tensor.shape = list(each)
            graph.tensors.append(tensor)
        operator.inputs, operator.outputs = [0, 3], [1, 2]
        graph.inputs, graph.outputs, graph.operators = [0], [2], [operator]
        model.subgraphs.append(graph)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(bytes(builder.Output()))
    return path


def shapes_in(path: Path) -> list[list[tuple[int, ...]]]:
    model = schema.ModelT.InitFromPackedBuf(path.read_bytes(), 0)
    return [[tuple(map(int, tensor.shape)) for tensor in graph.tensors] for graph in model.subgraphs]


def test_the_shapes_of_all_results_are_made_wrong_and_returned(tmp_path: Path) -> None:
    path = written(tmp_path / "m.tflite", (2, 3), (4, 5, 6), (), (7,))
    found = allocated_shapes._with_wrong_shapes(path)
    assert found is not None
    assert [(each.graph, each.tensor, each.sizes) for each in found] == [
        (0, 1, (4, 5, 6)), (0, 2, ()), (1, 1, ()), (1, 2, (4, 5, 6)),
    ]  # fmt: skip
    assert shapes_in(path) == [[(2, 3), (5, 6, 7), (), (7,)], [(7,), (), (5, 6, 7), (2, 3)]]


def test_a_shape_that_a_result_shares_with_another_tensor_can_not_be_told_apart(tmp_path: Path) -> None:
    path = written(tmp_path / "m.tflite", (2, 3), (2, 3), (8,), (7,))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        first, second, *_ = Tables(data).root().each(MODEL_SUBGRAPHS)[0].each(GRAPH_TENSORS)
        at = min(each.place + each.offsets[TENSOR_SHAPE] for each in (first, second))
        vector = max(each.vector(TENSOR_SHAPE)[0] for each in (first, second)) - 4
        data[at : at + 4] = (vector - at).to_bytes(4, "little")
    assert shapes_in(path)[0][:2] == [(2, 3), (2, 3)]
    assert allocated_shapes._with_wrong_shapes(path) is None
    assert shapes_in(path)[0][:2] == [(2, 3), (2, 3)]

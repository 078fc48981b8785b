"""What the runs read of a TFLite file: shapes, small constants, quantized levels, and options of a few operators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from graphfix.checker.files.tflite.graphs import Graph, Levels, ancestors, read_graphs
from models.builders.tflite.text import model as tflite


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], tuple[Graph, ...]]:
    def graphs(text: str) -> tuple[Graph, ...]:
        path = tmp_path / "m.tflite"
        path.write_bytes(tflite(text))
        return read_graphs(path)

    return graphs


Read = Callable[[str], tuple[Graph, ...]]


def test_shapes_constants_and_makers_are_read(read: Read) -> None:
    (graph,) = read("t[N,3] = ADD(x[N,3], b:const[3]{1.,2.,3.})\ny[N,3] = NEG(t)\nz[N,3] = ABS(t)")
    at = {name: index for index, name in enumerate(graph.names)}
    assert {name: graph.shapes[index] for name, index in at.items() if name in ("x", "b", "y")} == {
        "x": (None, 3), "b": (3,), "y": (None, 3),
    }  # fmt: skip
    assert {index: value.tolist() for index, value in graph.constants.items()} == {at["b"]: [1, 2, 3]}
    assert (graph.inputs, graph.outputs) == ((at["x"],), (at["y"], at["z"]))
    assert graph.makers == {at["t"]: 0, at["y"]: 1, at["z"]: 2}
    assert graph.producers() == {"t": ("ADD", "ADD#0"), "y": ("NEG", "NEG#1"), "z": ("ABS", "ABS#2")}
    assert ancestors(graph, [at["y"]]) == {0, 1}
    assert ancestors(graph, [at["z"], at["y"]]) == {0, 1, 2}
    assert ancestors(graph, [at["x"], at["b"]]) == set()


@pytest.mark.parametrize(
    ("dtype", "count", "known"),
    [("float32", 1024, True), ("float32", 1025, False), ("int64", 3, True), ("int8", 3, True), ("bool", 3, False)],
)
def test_small_constants_of_plain_numbers_are_known(read: Read, dtype: str, count: int, known: bool) -> None:
    (graph,) = read(f"y:{dtype}[{count}] = RESHAPE(c:const:{dtype}[{count}], s:const:int32[1]{{{count}}})")
    at = graph.names.index("c")
    assert (at in graph.constants) == known
    if known:
        assert (graph.constants[at].dtype, graph.constants[at].shape) == (np.dtype(dtype), (count,))


@pytest.mark.parametrize(
    ("dtype", "levels"),
    [
        ("int8", Levels(0.5, -65.5, 62.0)),
        ("uint8", Levels(0.5, -64.0, 63.5)),
        ("int16", Levels(0.5, -16384.0, 16383.5)),
        ("float32", None),
        ("int32", None),
    ],
)
def test_the_numbers_of_a_quantized_tensor_stand_for_levels(read: Read, dtype: str, levels: Levels | None) -> None:
    """The notation's scale is 0.5, its zero points are 3, 128 and 0."""
    (graph,) = read(f"y:{dtype}[2] = RESHAPE(x:{dtype}[2], s:const:int32[1]{{2}})")
    assert graph.levels.get(graph.names.index("x")) == levels


def test_options_that_matter_are_read(read: Read) -> None:
    (graph,) = read(
        "a[2,3] = GATHER(x[2,4], i:int32[3], axis=1)\n"
        "b[1,8,9,2] = TRANSPOSE_CONV(s:int32[4], w[2,3,3,5], d[1,4,3,5], padding=SAME, stride_h=2, stride_w=3)\n"
        "c[1,8,9,2] = TRANSPOSE_CONV(s, w, d, padding=VALID, stride_h=1, stride_w=2)\n"
        "e[2] = CONCATENATION(f[1], g[1], axis=0)\n"
        "h[2] = CUSTOM.Own(e)"
    )
    assert [(op.name, op.axis) for op in graph.ops[:1]] == [("GATHER", 1)]
    assert [(op.strides, op.padded) for op in graph.ops[1:3]] == [((2, 3), True), ((1, 2), False)]
    assert [op.name for op in graph.ops[3:]] == ["CONCATENATION", "Own"]
    assert [op.bodies for op in graph.ops] == [()] * 5


def test_the_bodies_of_control_flow_are_read(read: Read) -> None:
    main, *bodies = read(
        "subgraph main(c:bool[], x[2]):\ny[2] = IF(c, x, then=yes, else=no)\n"
        "subgraph yes:\nt[2] = NEG(p[2])\nsubgraph no:\nu[2] = ABS(q[2])"
    )
    assert [[op.name for op in body.ops] for body in bodies] == [["NEG"], ["ABS"]]
    assert sorted(main.ops[0].bodies) == [1, 2]
    setup, _ = read("CALL_ONCE(init=setup)\ny[2] = NEG(x[2])\nsubgraph setup:\nt[2] = NEG(p[2])")
    assert setup.ops[0].bodies == ()

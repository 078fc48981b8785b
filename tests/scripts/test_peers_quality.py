"""The benchmark beside the peers: what became of a model is seen in a run, and a planted fault in it too."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from peers import judge, onnx_runs, tflite_runs
from peers.record import Quality

from models.builders.tflite.text import model as tflite
from tests.support.notation import model


def saved(folder: Path, text: str, name: str = "m") -> Path:
    path = folder / f"{name}.onnx"
    onnx.save(model(text), path)
    return path


def counted(path: Path) -> tuple[int, int]:
    runs = onnx_runs if path.suffix == ".onnx" else tflite_runs
    left = runs.counted(path, runs.feeds(path, ""))[1]
    return left.ranks, left.stretched


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("y[2,3] = Add(a[2,3], b[2,3])", (0, 0)),
        ("y[2,3] = Add(a[2,3], b[3])", (1, 1)),
        ("y[2,3] = Add(a[2,3], b[1,3])", (0, 1)),
        ("y[1,3] = Add(a[1,3], b[3])", (1, 0)),
        ("y[2,3] = Add(a[2,1], b[3])", (1, 2)),
        ("y[N,3] = Add(a[N,3], b[1,3])", (0, 1)),
        ("y[2,3] = Where(c:bool[3], a[2,3], b[2,1])", (1, 2)),
        ("y[2,3,5] = MatMul(a[2,3,4], b[4,5])", (1, 1)),
        ("y[2,3,5] = MatMul(a[2,3,1], b[2,1,5])", (0, 0)),
        ("y[2,3] = PRelu(a[2,3], b[3])", (1, 1)),
        ("y[2,3] = Gemm(a[2,4], b[4,3], c[3])", (1, 1)),
        ("y[2,3] = Expand(a[3], s:const:int64[2]{2,3})", (0, 0)),
    ],
)
def test_what_an_onnx_model_broadcasts_is_counted_from_the_shapes_of_a_run(
    tmp_path: Path, text: str, left: tuple[int, int]
) -> None:
    assert counted(saved(tmp_path, text)) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("y[2,3] = ADD(a[2,3], b[2,3])", (0, 0)),
        ("y[2,3] = ADD(a[2,3], b[3])", (1, 1)),
        ("y[2,3] = MUL(a[2,3], b[1,3])", (0, 1)),
        ("y[1,2,4] = PRELU(a[1,2,4], b:const[1,4])", (1, 1)),
        ("y[2,3,5] = BATCH_MATMUL(a[2,3,4], b[4,5])", (1, 1)),
    ],
)
def test_what_a_tflite_model_broadcasts_is_counted_from_the_sizes_of_a_run(
    tmp_path: Path, text: str, left: tuple[int, int]
) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(tflite(text))
    assert counted(path) == left


def value(name: str, *shape: int, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def in_bodies(folder: Path) -> Path:
    """A Loop that goes around twice; in it an If, of which one branch runs and the other one does not."""
    add = helper.make_node("Add", ["state", "narrow"], ["sum"])
    other = helper.make_node("Mul", ["narrow", "one"], ["product"])
    grown = helper.make_node("Expand", ["product", "sizes"], ["grown"])
    then = helper.make_graph([add], "then", [], [value("sum", 2, 3)])
    never = helper.make_graph([other, grown], "else", [], [value("grown", 2, 3)])
    choose = helper.make_node("If", ["yes"], ["next"], then_branch=then, else_branch=never)
    same = helper.make_node("Identity", ["goes_on"], ["still"])
    inputs = [value("turn", kind=TensorProto.INT64), value("goes_on", kind=TensorProto.BOOL), value("state", 2, 3)]
    body = helper.make_graph(
        [choose, same], "body", inputs, [value("still", kind=TensorProto.BOOL), value("next", 2, 3)]
    )
    loop = helper.make_node("Loop", ["twice", "", "x"], ["y"], body=body)
    given = {
        "twice": helper.make_tensor("twice", TensorProto.INT64, [], [2]),
        "yes": helper.make_tensor("yes", TensorProto.BOOL, [], [True]),
        "narrow": helper.make_tensor("narrow", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0]),
        "one": helper.make_tensor("one", TensorProto.FLOAT, [], [1.0]),
        "sizes": helper.make_tensor("sizes", TensorProto.INT64, [2], [2, 3]),
    }
    graph = helper.make_graph([loop], "main", [value("x", 2, 3)], [value("y", 2, 3)], [*given.values()])
    path = folder / "bodies.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_what_runs_in_a_body_is_counted_and_what_does_not_run_is_not(tmp_path: Path) -> None:
    assert counted(in_bodies(tmp_path)) == (1, 1)


def judged(before: Path, after: Path) -> Quality:
    return judge.quality(onnx_runs, after, judge._original(onnx_runs, before, ""))


def test_the_same_bits_are_equal_and_the_order_of_a_sum_is_not(tmp_path: Path) -> None:
    before = saved(tmp_path, "t[9,9] = Add(a[9,9], b[9,9])\ny[9,9] = Add(t[9,9], c[9,9])", "before")
    after = saved(tmp_path, "t[9,9] = Add(b[9,9], c[9,9])\ny[9,9] = Add(a[9,9], t[9,9])", "after")
    assert judged(before, before) == Quality(True, True, 0, 0, 2, "")
    found = judged(before, after)
    assert found.equal is False
    assert found.reason.startswith("y: differs by up to ")


@pytest.mark.parametrize(
    ("mine", "other", "said"),
    [
        (np.array([np.nan, 1.0]), np.array([-np.nan, 1.0]), ""),
        (np.array([0.0]), np.array([-0.0]), "y: differs by up to 0.0e+00"),
        (np.array([1, 2]), np.array([1, 3]), "y: differs by up to 1.0e+00"),
        (np.array([1.0], np.float32), np.array([1.0]), "y: float32[1] became float64[1]"),
        (np.array([1.0]), np.array([[1.0]]), "y: float64[1] became float64[1, 1]"),
    ],
    ids=["NaN is NaN", "the sign of zero", "another number", "another type", "another shape"],
)
def test_outputs_are_compared_bit_by_bit(mine: np.ndarray, other: np.ndarray, said: str) -> None:
    assert judge.difference({"y": mine}, {"y": other}) == said


def test_another_name_of_an_output_is_a_difference() -> None:
    assert judge.difference({"y": np.zeros(1)}, {"z": np.zeros(1)}) == "other outputs: y, z"


def test_a_result_that_does_not_load_is_said_to(tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    found = judged(saved(tmp_path, "y[2] = Neg(x[2])"), tmp_path / "broken.onnx")
    assert not found.loads
    assert found.reason


def test_a_result_that_ends_the_process_is_said_to_and_the_next_one_runs() -> None:
    assert judge.in_fork(lambda: os._exit(3), 30).reason == "its run ended with 3"
    assert judge.in_fork(os.abort, 30).reason == "its run ended by SIGABRT"
    assert judge.in_fork(lambda: Quality(True, True), 30).equal

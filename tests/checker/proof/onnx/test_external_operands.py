"""Constants that move to a data file: onnxruntime does not load the model if its shape inference reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tests.support.proving import prove

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Case(NamedTuple):
    """A node that reads `x` and the constant `a`, which moves to a data file."""

    op: str
    inputs: str
    constants: Mapping[str, Any]
    shape: tuple[int, ...] = (2, 3, 4)
    results: int = 1
    opset: int = 18
    attributes: Mapping[str, Any] = {}


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def scalar(value: float, kind: type = np.int64) -> np.ndarray:
    return np.array(value, kind)


READ = [
    Case("Reshape", "x a", {"a": ints(6, 4)}),
    Case("Reshape", "x a", {"a": ints(-1)}),
    Case("Expand", "x a", {"a": ints(2, 3, 4)}),
    Case("Tile", "x a", {"a": ints(1, 1, 2)}),
    Case("Unsqueeze", "x a", {"a": ints(0)}),
    Case("Squeeze", "x a", {"a": ints(0)}, (1, 3, 4)),
    Case("ReduceSum", "x a", {"a": ints(0)}),
    Case("ReduceMax", "x a", {"a": ints(1)}),
    Case("ReduceL2", "x a", {"a": ints(0, 1)}),
    Case("Split", "x a", {"a": ints(1, 1)}, results=2),
    Case("Pad", "x a", {"a": ints(0, 0, 0, 0, 1, 0)}),
    Case("TopK", "x a", {"a": ints(1)}, results=2),
    Case("ConstantOfShape", "a", {"a": ints(2)}),
    Case("Slice", "x a b", {"a": ints(0), "b": ints(1)}),
    Case("Slice", "x b a", {"a": ints(1), "b": ints(0)}),
    Case("Resize", "x  a", {"a": floats(1, 1, 2)}),
    Case("Resize", "x   a", {"a": ints(2, 3, 8)}),
    Case("Upsample", "x a", {"a": floats(1, 1, 2)}, opset=9),
    Case("Range", "a b c", {"a": scalar(0, np.float32), "b": scalar(3, np.float32), "c": scalar(1, np.float32)}),
    Case("Range", "a b c", {"a": scalar(0, np.int32), "b": scalar(3, np.int32), "c": scalar(1, np.int32)}),
    Case("OneHot", "b a c", {"a": scalar(3), "b": ints(0, 1), "c": floats(0, 1)}),
    Case("DFT", "x a", {"a": scalar(2)}, (1, 4, 1)),
    Case("HannWindow", "a", {"a": scalar(4)}),
    Case("HammingWindow", "a", {"a": scalar(4, np.int32)}),
    Case("CenterCropPad", "x a", {"a": ints(2, 3, 4)}),
    Case("AffineGrid", "x a", {"a": ints(2, 3, 4, 5)}, (2, 2, 3), opset=20),
    Case("Col2Im", "x a b", {"a": ints(2, 2), "b": ints(1, 1)}, (1, 3, 4)),
]
NOT_READ = [
    Case("MatMul", "x a", {"a": np.ones((4, 2), np.float32)}),
    Case("Add", "x a", {"a": np.ones((2, 3, 4), np.float32)}),
    Case("Mul", "x a", {"a": np.arange(4, dtype=np.float32).repeat(4)}, (2, 16)),
    Case("Gather", "x a", {"a": np.zeros((2, 2), np.int64)}),
    Case("Conv", "x a", {"a": np.ones((2, 3, 1), np.float32)}),
    Case("Equal", "x a", {"a": np.arange(24, dtype=np.float32).reshape(2, 3, 4)}),
    Case("Add", "x a", {"a": np.arange(9, dtype=np.float32)}, (2, 9)),
]


def model(case: Case, *, dead: bool = False) -> ModelProto:
    """Return a model of one node; `dead`: the node's results are no outputs of the model."""
    names = [f"y{at}" for at in range(case.results)]
    nodes = [helper.make_node(case.op, case.inputs.split(" "), names, **case.attributes)]
    outputs = [helper.make_empty_tensor_value_info(name) for name in names]
    if dead:
        nodes.append(helper.make_node("Neg", ["x"], ["z"]))
        outputs = [helper.make_empty_tensor_value_info("z")]
    held = [numpy_helper.from_array(array, name) for name, array in case.constants.items()]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, case.shape)]
    graph = helper.make_graph(nodes, "g", given, outputs, held)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", case.opset)])


def moved(made: ModelProto, folder: Path) -> ModelProto:
    """Return a model with the constant `a` in a data file."""
    after = ModelProto.FromString(made.SerializeToString())
    (tensor,) = (tensor for tensor in after.graph.initializer if tensor.name == "a")
    (folder / "a.bin").write_bytes(tensor.raw_data)
    entries = {"location": "a.bin", "offset": "0", "length": str(len(tensor.raw_data))}
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return after


def saved(folder: Path, *models: ModelProto) -> list[Path]:
    paths = [folder / f"{number}.onnx" for number in range(len(models))]
    for path, each in zip(paths, models, strict=True):
        onnx.save(each, path)
    return paths


def loads(path: Path) -> bool:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail as fail:
        return "Cannot parse data from external tensors" not in str(fail)
    return True


@pytest.mark.parametrize("dead", [False, True], ids=["used", "dead"])
@pytest.mark.parametrize("case", READ, ids=lambda case: f"{case.op}({case.inputs})")
def test_a_constant_that_inference_reads_is_not_proved_if_it_moves(case: Case, dead: bool, tmp_path: Path) -> None:
    before = model(case, dead=dead)
    one, two, same = saved(tmp_path, before, moved(before, tmp_path), moved(before, tmp_path))
    same.write_bytes(same.read_bytes() + b"2\x00")  # an empty doc string
    assert (loads(one), loads(two)) == (True, False)
    assert "lies in a data file in the second file alone" in str(prove(one, two).reason)
    assert prove(two, same).proved


@pytest.mark.parametrize("case", NOT_READ, ids=lambda case: f"{case.op}({case.inputs})")
def test_weights_may_move_to_a_data_file(case: Case, tmp_path: Path) -> None:
    before = model(case)
    one, two = saved(tmp_path, before, moved(before, tmp_path))
    assert loads(one)
    assert loads(two)
    assert prove(one, two).proved


def test_a_second_constant_of_the_same_name_does_not_hide_behind_the_first(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["" : 18]> g (float[2,3,4] x, bool c) => (float[6,4] y) {
        y = If(c) <then_branch = t () => (float[6,4] u) <int64[2] a = {6, 4}> { u = Reshape(x, a) },
        else_branch = e () => (float[6,4] v) <int64[2] a = {6, 4}> { v = Reshape(x, a) }> }"""
    both = onnx.parser.parse_model(text)
    branches = [attribute.g for attribute in both.graph.node[0].attribute]
    models = []
    for branch in branches:
        outside = ModelProto()
        outside.graph.initializer.add().CopyFrom(branch.initializer[0])
        outside.graph.initializer[0].raw_data = ints(6, 4).tobytes()
        outside.graph.initializer[0].ClearField("int64_data")
        branch.initializer[0].CopyFrom(moved(outside, tmp_path).graph.initializer[0])
        models.append(ModelProto.FromString(both.SerializeToString()))
    one, two = saved(tmp_path, *models)
    assert "lies in a data file in the second file alone" in str(prove(one, two).reason)

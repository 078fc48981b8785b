"""Products with ones in the bodies of loops, whose inputs have a type as soon as they are read."""

from __future__ import annotations

import onnx
from onnx import TensorProto, helper

from tests.support.proved import unproved


def looped(dims: list[int], number: float) -> bytes:
    """A Loop of two trips that multiplies its state by a constant of these dims."""
    float_ = TensorProto.FLOAT
    body = helper.make_graph(
        [
            helper.make_node("Constant", [], ["c"], value=helper.make_tensor("c", float_, dims, [number])),
            helper.make_node("Mul", ["v", "c"], ["m"]),
            helper.make_node("Identity", ["go"], ["on"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", float_, [2, 1]),
        ],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, []), helper.make_tensor_value_info("m", float_, [2, 1])],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["trips", "", "x"], ["y"], body=body)],
        "g",
        [helper.make_tensor_value_info(name, kind, dims) for name, kind, dims in
         (("trips", TensorProto.INT64, []), ("x", float_, [2, 1]))],
        [helper.make_tensor_value_info("y", float_, [2, 1])],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def test_a_state_times_ones_is_the_same_in_both_files() -> None:
    assert unproved(looped([1], 1.0), looped([1, 1], 1.0)) is None


def test_a_state_times_another_number_is_another_one() -> None:
    assert unproved(looped([1], 1.0), looped([1, 1], 2.0)) is not None

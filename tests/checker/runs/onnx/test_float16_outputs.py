"""Which outputs hold numbers of float16, though they are declared as wider."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from graphfix.checker.runs.onnx import float16_outputs as module
from graphfix.checker.runs.onnx.float16_outputs import float16_outputs
from graphfix.runtimes.onnx.shape_inference import InferenceError

MOVERS = "Identity Reshape Flatten Squeeze Unsqueeze Transpose Slice Gather Expand Tile"


def model(nodes: str) -> onnx.ModelProto:
    header = '<ir_version: 8, opset_import: ["" : 19, "own" : 1]>'
    ends = "(float16[2,3] h, float[2,3] f, int64[2] n) => (float[2,3] y, float[2,3] z, float16[2,3] h)"
    proto = parser.parse_model(f"{header} g {ends} {{ {nodes} }}")
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((2, 3), np.float16), "w"))
    proto.graph.value_info.append(helper.make_tensor_value_info("half", TensorProto.FLOAT16, [2, 3]))
    proto.graph.value_info.append(helper.make_tensor_value_info("whole", TensorProto.FLOAT, [2, 3]))
    return proto


@pytest.fixture(autouse=True)
def _nothing_is_inferred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "infer_shapes", lambda given: given)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("y = Cast<to = 1>(h)", "y"),
        ("y = Cast<saturate = 0, to = 1>(h)", "y"),
        ("y = Cast<to = 11>(h) z = Cast<to = 1>(w)", "yz"),
        ("y = Cast<to = 1>(f) z = Cast<to = 1>(h)", "z"),
        ("y = Cast<to = 10>(f)", ""),
        ("y = Cast<to = 16>(h)", ""),
        ("y = Cast<to = 10>(h)", ""),
        ("half = Relu(h) y = Cast<to = 1>(half)", "y"),
        ("whole = Relu(f) y = Cast<to = 1>(whole)", ""),
        ("unknown = Relu(h) y = Cast<to = 1>(unknown)", ""),
        ("c = Cast<to = 1>(h) y = Neg(c)", ""),
        ("c = Cast<to = 1>(h) y = Gather(f, c)", ""),
        ("c = Cast<to = 1>(h) d = Transpose(c) y = Reshape(d, n) z = Identity(f)", "y"),
        ("y = own.Cast<to = 1>(h)", ""),
        ("c = Cast<to = 1>(h) y = own.Identity(c)", ""),
        *((f"c = Cast<to = 1>(h) y = {op}(c, n)", "y") for op in MOVERS.split()),
    ],
)
def test_an_output_holds_what_a_cast_made_of_float16(nodes: str, expected: str) -> None:
    assert float16_outputs(model(nodes)) == set(expected)


def test_where_nothing_can_be_inferred_no_output_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: onnx.ModelProto) -> None:
        raise InferenceError("no")

    monkeypatch.setattr(module, "infer_shapes", refused)
    assert float16_outputs(model("y = Cast<to = 1>(h)")) == frozenset()

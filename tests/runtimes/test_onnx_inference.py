"""onnx's shape inference in a process apart: the same shapes and errors, and no crash or endless wait."""

from __future__ import annotations

import onnx
import onnx.parser
import pytest

from graphfix.runtimes import onnx_inference
from graphfix.runtimes.onnx_inference import InferenceError, infer_shapes

CONSTANTS = (
    "int64[1] o = {0}, int64[1] last = {2}, int64[1] far = {9}, int64[1] back = {-1}, int64[2] below = {-3,1}, "
    "int64[2] cut = {-6,0}"
)
ABORTING = {
    "expand": "e = Expand (x, below) y = Slice (e, o, far, o, back)",
    "computed": "s = Shape (v) m = Sub (s, far) e = Expand (go, m) y = Slice (e, o, far, o, back)",
    "pad": "e = Pad (v, cut) y = Slice (e, o, far, o, back)",
    "pool": "e = MaxPool <kernel_shape = [7]> (w) y = Slice (e, o, far, last, back)",
    "body": "e = Expand (x, below) y = If (go) <"
    "then_branch = t () => (float[?,?] r) <int64[1] p = {0}, int64[1] q = {9}, int64[1] s = {-1}> "
    "{ r = Slice (e, p, q, p, s) }, else_branch = f () => (float[?,?] i) { i = Identity (x) }>",
}
"""Nodes whose inference asserts that a size is not negative: by name, how a negative size comes about."""


def model(nodes: str) -> onnx.ModelProto:
    """Return a model that declares no shape of its output y."""
    graph = f"g (float[N,4] x, float[4] v, float[1,1,3] w, bool go) => (float[?] y) <{CONSTANTS}> {{ {nodes} }}"
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}')
    made.graph.output[0].type.tensor_type.ClearField("shape")
    return made


def test_the_shapes_are_those_of_onnx() -> None:
    given = model("a = Concat <axis = 0> (x, x) b = Shape (a) c = ConstantOfShape (b) y = Add (a, c)")
    for data_prop in (False, True):
        expected = onnx.shape_inference.infer_shapes(given, data_prop=data_prop)
        assert infer_shapes(given, data_prop=data_prop) == expected
    assert {value.name for value in expected.graph.value_info} == {"a", "b", "c"}


def test_what_onnx_objects_to_is_an_error_with_its_text() -> None:
    given = model("a = Concat <axis = 5> (x, x) y = Relu (a)")
    with pytest.raises(onnx.shape_inference.InferenceError) as expected:
        onnx.shape_inference.infer_shapes(given, strict_mode=True)
    with pytest.raises(InferenceError) as raised:
        infer_shapes(given, strict=True)
    assert str(raised.value) == str(expected.value)
    assert not raised.value.aborted


@pytest.mark.parametrize("name", ABORTING)
def test_an_abort_is_an_error(name: str) -> None:
    with pytest.raises(InferenceError, match="onnx's inference aborts its process") as raised:
        infer_shapes(model(ABORTING[name]), data_prop=True)
    assert raised.value.aborted


def test_a_node_without_its_operands_ends_nothing() -> None:
    for node in ("Slice ()", "Concat <axis = 0> ()", "Reshape (x)", "Pad (x)", 'Einsum <equation = "ij->ji"> ()'):
        try:
            infer_shapes(model(f"a = {node} y = Relu (x)"), data_prop=True)
        except InferenceError:
            continue


def test_an_inference_that_does_not_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_inference, "SECONDS", 1.0)
    with pytest.raises(InferenceError, match="was stopped: no answer within 1 seconds") as raised:
        infer_shapes(model('y = Einsum <equation = "a2,a2->a2"> (o, far)'))
    assert raised.value.aborted

"""Models for faults that the committed models have too few places for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

from tests.support.tflite.written import G, Op, T, tflite

FLOATS = np.arange(1, 25, dtype=np.float32)


def _onnx(graph: str, opset: int, **weights: np.ndarray) -> bytes:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {graph}')
    for name, value in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    return bytes(model.SerializeToString())


def _sum(x: T, b: T, y: T) -> G:
    return G([x, b, y], [Op("ADD", ["x", "b"], ["y"])], ["x", "b"], ["y"])


def _chosen(shape: tuple[int, ...], condition: T, inputs: tuple[str, ...]) -> G:
    tensors = [condition, T("a", shape), T("b", shape), T("y", shape)]
    return G(tensors, [Op("SELECT", ["c", "a", "b"], ["y"])], [*inputs, "a", "b"], ["y"])


_Y = "=> (float[] y)"
MODELS: Mapping[str, bytes] = {
    "slope_of_channels.onnx": _onnx(
        f"g (float[2,3,4,5] x) {_Y} {{ y = PRelu (x, s) }}", 17, s=FLOATS[:3].reshape(3, 1, 1)
    ),
    "slope_of_rows.onnx": _onnx(f"g (float[4,3,2] x) {_Y} {{ y = PRelu (x, s) }}", 17, s=FLOATS[:3].reshape(3, 1)),
    "old_axis_0.onnx": _onnx(
        f"g (float[2,3,4] x) {_Y} {{ y = Add <broadcast = 1, axis = 0> (x, b) }}", 6, b=FLOATS[:2]
    ),
    "old_axis_1.onnx": _onnx(
        f"g (float[2,3,4] x) {_Y} {{ y = Mul <broadcast = 1, axis = 1> (x, b) }}", 6, b=FLOATS[:3]
    ),
    "scales_of_rows.onnx": _onnx(
        f"g (int8[3,4] q, float[2,3,4] x) {_Y} {{ d = DequantizeLinear <axis = 0> (q, s) y = Add (x, d) }}",
        17, s=FLOATS[:3],
    ),
    "scales_of_columns.onnx": _onnx(
        f"g (float[3,4] w, float[2,3,4] x) {_Y} {{ q = QuantizeLinear <axis = 1> (w, s, z)"
        " d = DequantizeLinear <axis = 1> (q, s, z) y = Mul (x, d) }",
        17, s=FLOATS[:4], z=np.zeros(4, np.int8),
    ),
    "lifted_by_unsqueeze.onnx": _onnx(f"g (float[N,M,K] x, float[M,K] b) {_Y} {{ y = Sub (x, b) }}", 17),
    "lifted_by_old_unsqueeze.onnx": _onnx(f"g (float[N,M,K] x, float[M,K] b) {_Y} {{ y = Div (x, b) }}", 11),
    "lifted_by_expand_dims.tflite": tflite(_sum(T("x", [-1, -1, -1]), T("b", [-1, -1]), T("y", [-1, -1, -1]))),
    "lifted_by_two_expand_dims.tflite": tflite(
        _sum(T("x", [2, -1, 3, -1]), T("b", [-1, 3, -1]), T("y", [2, -1, 3, -1]))
    ),
    "chosen_by_rows.tflite": tflite(_chosen((2, 2, 2), T("c", [2], "bool"), ("c",))),
    "chosen_by_constant_rows.tflite": tflite(_chosen((3, 3), T("c", [3], "bool", [True, False, True]), ())),
    "signed.tflite": tflite(
        _sum(T("x", [2, 3]), T("b", [3]), T("y", [2, 3])), signatures=[("serve", 0, {"x": "x", "b": "b"}, {"y": "y"})]
    ),
}  # fmt: skip

"""Models for faults that the committed models have too few places for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

from models.builders.tflite.text import Signature
from models.builders.tflite.text import model as tflite

FLOATS = np.arange(1, 25, dtype=np.float32)


def _onnx(graph: str, opset: int, **weights: np.ndarray) -> bytes:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {graph}')
    for name, value in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    return bytes(model.SerializeToString())


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
    "lifted_by_expand_dims.tflite": tflite("y[N,M,K] = ADD(x[N,M,K], b[M,K])"),
    "lifted_by_two_expand_dims.tflite": tflite("y[2,M,3,K] = ADD(x[2,M,3,K], b[M,3,K])"),
    "chosen_by_rows.tflite": tflite("y[2,2,2] = SELECT(c:bool[2], a[2,2,2], b[2,2,2])"),
    "chosen_by_constant_rows.tflite": tflite("y[3,3] = SELECT(c:const:bool{True,False,True}, a[3,3], b[3,3])"),
    "signed.tflite": tflite("y[2,3] = ADD(x[2,3], b[3])", signatures={"serve": Signature()}),
}  # fmt: skip

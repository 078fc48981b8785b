"""The shapes and integer values of an ONNX model."""

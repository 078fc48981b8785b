"""Convert an ONNX model to another operator set."""

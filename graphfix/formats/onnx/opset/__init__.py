"""State an ONNX model at another operator set."""

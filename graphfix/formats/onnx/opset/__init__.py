"""Convert an ONNX model to another opset."""

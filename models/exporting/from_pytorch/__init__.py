"""Models of PyTorch, which export_onnx exports to ONNX."""

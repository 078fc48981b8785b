"""The proof's rules for ONNX."""

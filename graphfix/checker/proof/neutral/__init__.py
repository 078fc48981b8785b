"""Rules of the proof that ONNX and TFLite share: broadcasting, data movement, constants, shape arithmetic."""

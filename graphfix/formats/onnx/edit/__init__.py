"""Carry edits out on an ONNX model."""

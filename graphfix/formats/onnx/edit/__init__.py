"""Carry out edits on an ONNX model."""

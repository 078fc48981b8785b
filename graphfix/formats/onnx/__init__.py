"""The ONNX format: read a model without its large payloads, build its view, carry out edits, and write the file."""

from graphfix.formats.onnx.model import OnnxModel, load

__all__ = ["OnnxModel", "load"]

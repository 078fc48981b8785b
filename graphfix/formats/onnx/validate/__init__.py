"""Whether an ONNX model keeps the rules of the format that every later step relies on."""

from graphfix.formats.onnx.validate.graphs import check

__all__ = ["check"]

"""Check that an ONNX model follows the rules of the format on which every later step relies."""

from graphfix.formats.onnx.validate.graphs import check

__all__ = ["check"]

"""ONNX: the skeleton reader, the view, the edits, and the splicing writer."""

from graphfix.formats.onnx.model import OnnxModel, load

__all__ = ["OnnxModel", "load"]

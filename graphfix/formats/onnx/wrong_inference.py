"""Operators for which onnx's shape inference sometimes returns another size than onnxruntime computes.

`load_inference` runs onnx's inference only for models that contain one of these operators.
"""

from __future__ import annotations

from graphfix.formats.onnx.file.proto import NodeProto
from graphfix.graph.view import Node

ALWAYS = frozenset({"CenterCropPad", "Col2Im", "Einsum", "MaxUnpool", "Upsample"})
"""Operators whose inferred sizes are compared whatever their attributes are."""
POOLS = frozenset({"MaxPool", "AveragePool", "LpPool"})
"""With ceil_mode, onnx counts a last window that begins in the padding; onnxruntime does not."""


STEPS = 4
"""The operand of Slice that holds the steps."""


def slices_backwards(node: Node) -> bool:
    """Return whether a node is a Slice with a negative or unknown step: onnx reads some ends of it wrongly."""
    if node.op != "Slice" or len(node.operands) <= STEPS:
        return False
    steps = node.operands[STEPS]
    if steps is None:
        return False
    content = steps.content
    return content is None or not content.static or any(step < 0 for step in content.numbers)


def may_be_wrong(node: NodeProto) -> bool:
    """Return whether onnx may infer a wrong size for a result of a node."""
    if node.domain not in ("", "ai.onnx"):
        return False
    if node.op_type in ALWAYS:
        return True
    attributes = {each.name: each for each in node.attribute}
    if node.op_type in POOLS:
        return "ceil_mode" in attributes and attributes["ceil_mode"].i != 0
    if node.op_type != "ConvTranspose":
        return False
    automatic = "auto_pad" in attributes and attributes["auto_pad"].s not in (b"", b"NOTSET")
    return automatic or not attributes.keys().isdisjoint({"output_padding", "output_shape"})

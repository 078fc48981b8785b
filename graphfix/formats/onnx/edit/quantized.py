"""Decide whether lifts and stretches may move in front of QuantizeLinear and DequantizeLinear, and adapt their axis."""

from __future__ import annotations

from graphfix.formats.onnx.file.tensors import attribute_of
from graphfix.graph.edits import Refused
from graphfix.graph.quantizers import DEQUANTIZE, QUANTIZE, is_quantizer
from graphfix.graph.view import Node, Value
from graphfix.results.onnx_messages import NodeProto
from graphfix.shapes.dim import Shape, Size, same

PER_AXIS_SINCE = 13
WITHOUT_KERNELS = frozenset(
    "int2 uint2 int4 uint4 float4e2m1 float6e2m3 float6e3m2"
    " float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float8e8m0".split()
)
"""Element types that onnxruntime dequantizes, but for which it has no kernel of Unsqueeze, Expand or Tile.

A test checks this list with onnxruntime.
"""


def moves_by_node(dequantize: Node) -> bool:
    """Return whether nodes can lift and stretch the operand of a DequantizeLinear. If not, its result is edited.

    Its operand has a type with kernels, or a QuantizeLinear produces it. Then the edit is made in front of both.
    """
    source = dequantize.operand(0)
    return source.dtype not in WITHOUT_KERNELS or is_quantizer(source.producer, QUANTIZE)


def edited_in_front(dequantize: Node, version: int) -> bool:
    """Return whether an edit of a DequantizeLinear's result is made on its operand; else its result is edited.

    A DequantizeLinear with blocks would need an edit of its scale too. Before opset 13 a scale has one element. Some
    quantizers write per-axis scales into older opsets too, but no runtime loads such files.
    """
    return not dequantize.attributes.get("block_size") and (version >= PER_AXIS_SINCE or not _per_axis(dequantize))


def _per_axis(node: Node) -> bool:
    """Return whether the scale is per axis, or may be so.

    onnxruntime uses a scale of shape [1] for the whole tensor, whatever the attribute `axis` is.
    """
    scale, shape, axis = node.operand(1).ranked, node.operand(0).shape, _axis(node)
    if scale.rank != 1 or shape.axes is None:
        return scale.rank == 1
    if not -len(shape.axes) <= axis < len(shape.axes):
        return False
    size = shape.axes[axis]
    return scale.dims != (1,) or not isinstance(size, int) or size == 1


def _axis(node: Node) -> int:
    axis = node.attributes.get("axis", 1)
    return axis if isinstance(axis, int) else 1


def axis_behind(node: Node, axes: tuple[int, ...]) -> int | None:
    """Return the quantized axis after unit axes are added at the positions `axes`; None if it stays as it is."""
    axis = _axis(node)
    if not axes or not _per_axis(node) or axis < 0:
        return None
    for lifted in sorted(axes):
        axis += lifted <= axis
    return axis


def set_axis(proto: NodeProto, node: Node, axis: int | None) -> dict[str, object]:
    """Write the quantized axis to the message, unless `axis` is None. Return the node's attributes as they are now."""
    if axis is None:
        return dict(node.attributes)
    for attribute in [attribute for attribute in proto.attribute if attribute.name == "axis"]:
        proto.attribute.remove(attribute)
    proto.attribute.append(attribute_of("axis", axis))
    return {**node.attributes, "axis": axis}


def check_quantized(value: Value, to: Shape | None, version: int) -> None:
    """Raise Refused if a lift or stretch of the operand would change the meaning of its quantization parameters.

    `to` is the shape after a stretch, or None for a lift.
    """
    node = value.producer
    if is_quantizer(node, DEQUANTIZE) and not edited_in_front(node, version):
        return
    while is_quantizer(node, DEQUANTIZE, QUANTIZE):
        if node.attributes.get("block_size"):
            raise Refused(f"its {node.op} '{node.label}' is quantized in blocks")
        if not node.operand(1).shape.ranked:
            raise Refused(f"the rank of the scale of {node.op} '{node.label}' is not known")
        if to is not None and _per_axis(node) and _stretched(value.shape, to, _axis(node)):
            raise Refused(f"it would be stretched along the axis that {node.op} '{node.label}' quantizes")
        node = node.operand(0).producer


def _stretched(have: Shape, want: Shape, axis: int) -> bool:
    """Return whether the stretch may change the size of the axis.

    It can't if both shapes have one rank and equal sizes there.
    """
    if have.axes is None or want.axes is None or not -have.rank <= axis < have.rank == want.rank:
        return True
    sizes: tuple[Size, Size] = (have.axes[axis], want.axes[axis])
    return not same(*sizes)

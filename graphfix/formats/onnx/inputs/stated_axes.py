"""Write axes into a Squeeze that has none, if a range of sizes (`--dim N=2..64`) decides which axes it drops."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from graphfix.formats.onnx.file.messages import holds_initializers, is_standard
from graphfix.formats.onnx.infer.scope import GraphScope, versions_of
from graphfix.results.onnx_messages import ModelProto, NodeProto
from graphfix.shapes.shape import never_one

AXES_ARE_OPERANDS_SINCE = 13


def state_axes(proto: ModelProto, main: GraphScope, fresh: Callable[[str], str]) -> bool:
    """Add axes to each Squeeze without axes that a range of sizes decides; return whether a node was changed.

    The file does not contain the range. Without these axes, a later reader would not know the rank of the result.
    """
    found = [(node, axes) for scope in main.walk() for node, axes in _decided_axes(scope)]
    if not found:
        return False
    import numpy as np
    from onnx import helper, numpy_helper

    version = versions_of(proto.opset_import).get("", 1)
    for node, axes in found:
        if version < AXES_ARE_OPERANDS_SINCE:
            node.attribute.append(helper.make_attribute("axes", axes))
            continue
        tensor = numpy_helper.from_array(np.asarray(axes, np.int64), fresh(f"{node.output[0]}_axes"))
        if holds_initializers(proto.graph, proto.ir_version):
            proto.graph.initializer.append(tensor)
        else:
            made = helper.make_node("Constant", [], [tensor.name], fresh(tensor.name), value=tensor)
            proto.graph.node.insert(0, made)
        node.input[:] = [node.input[0], tensor.name]
    return True


def _decided_axes(scope: GraphScope) -> Iterator[tuple[NodeProto, list[int]]]:
    """Yield each Squeeze without axes whose operand has a symbolic size, and the axes that it drops."""
    for node in scope.graph.node if scope.graph is not None else ():
        if node.op_type != "Squeeze" or not is_standard(node.domain) or any(node.input[1:]) or node.attribute:
            continue
        sizes = scope.shape(node.input[0]).axes or ()
        gone = [axis for axis, size in enumerate(sizes) if size == 1]
        if (
            gone
            and any(not isinstance(size, int) for size in sizes)
            and all(size == 1 or never_one(size) for size in sizes)
        ):
            yield node, gone

"""Replace the `broadcast` and `axis` attributes of ONNX opsets 1 to 6 by unit axes on the operand (ONNX only).

    Add(x[2,3,4,5], b[3], broadcast=1, axis=1)  ->  Add(x, b[1,3,1,1])       opset 8
    PRelu(x[2,3,4], slope[3])                   ->  PRelu(x, slope[1,3,1])   the channel axis is 1
    Selu(x)                            opset 5  ->  Selu(x, alpha=1.6732, gamma=1.0507)

Before opset 7, the second operand is aligned at `axis` of the first operand. So it needs unit axes on its right, too.
onnxruntime has no kernels for these operators.

The opset belongs to the whole model, so all nodes are upgraded or no node is. No node is upgraded if the rank of a
legacy operand is not known, or if another operator has no known meaning at opset 8. A default value that is different
at opset 8 is written as an attribute (Selu). Two kinds of operators have no known meaning at opset 8. One is a Clip of
opset 1 to 5 without one of its bounds. The other is a Dropout or BatchNormalization without `is_test=1`, which runs in
training mode. Other tools may write wrong files here: onnx's converter copies PRelu's slope unchanged, which is wrong
without a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from graphfix.graph.edits import Edit, Lift, Upgrade
from graphfix.graph.view import Graph, Node
from graphfix.shapes.dim import Incompatible

CODE = "GF201"
VERSION = 8
"""The first opset with numpy's rule and Expand."""


def plan_model(graphs: Sequence[Graph]) -> Iterator[tuple[Node, Iterable[Edit]]]:
    """Yield each legacy node with the edits that upgrade it and write its alignment as unit axes."""
    for graph in graphs:
        for node in graph.nodes:
            if node.row is not None and node.row.style == "legacy" and node.operands:
                yield node, plan(node)


def plan(node: Node) -> Iterator[Edit]:
    """Yield lifts that align the operands as the attributes do, and the upgrade, which removes the attributes."""
    row = node.row
    if row is None:
        return
    for operand in row.operands:
        if operand.index < len(node.operands) and operand.index != row.onto:
            yield from _lifted(node, operand.index)
    yield Upgrade(VERSION, CODE)


def _lifted(node: Node, index: int) -> Iterator[Edit]:
    """Yield the lift of an operand that needs unit axes on its right. Raises Incompatible if it does not broadcast."""
    channel = node.row.channel_axis if node.row is not None else None
    if node.op == "Gemm" or (channel is None and not node.attributes.get("broadcast")):
        return  # A Gemm's C already follows numpy's rule. Without `broadcast`, the shapes are equal.
    rank, part = node.operand(0).ranked.rank, node.operand(index).ranked.rank
    axis = _axis(node, rank, part) if channel is None else min(channel, rank - part)
    behind = rank - axis - part
    if axis < 0 or behind < 0:
        raise Incompatible(f"{node.operand(index).shape} at axis {axis} of {node.operand(0).shape} does not broadcast")
    axes = (*range(axis), *range(axis + part, rank))
    if behind:
        yield Lift(index, axes, CODE)


def _axis(node: Node, rank: int, part: int) -> int:
    """Return the axis of the first operand at which the second operand begins; by default its last axes."""
    axis = node.attributes.get("axis")
    if not isinstance(axis, int):
        return rank - part
    return axis + rank if axis < 0 else axis

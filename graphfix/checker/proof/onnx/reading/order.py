"""Sort the nodes of files that are not in the order of execution, as onnxruntime does when it loads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.files.onnx.bodies import bodies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnx import GraphProto, NodeProto


def put_in_order(graph: GraphProto) -> bool:
    """Let each node of the main graph stand in front of the first one that reads its results; return if one moved.

    Of nodes that read each other's results none has such a place: the reader finds that a value is missing. Bodies stay
    as they are: onnxruntime refuses those that are not sorted.
    """
    nodes = list(graph.node)
    origin = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    order: dict[int, None] = {}
    for first in range(len(nodes)):
        path = {first: names_read(nodes[first])}
        while path:
            at, names = next(reversed(path.items()))
            makers = (origin.get(name, at) for name in names)
            late = next((maker for maker in makers if maker not in order and maker not in path), None)
            if late is None:
                order.setdefault(at)
                del path[at]
            else:
                path[late] = names_read(nodes[late])
    ranks = dict(zip(order, range(len(nodes)), strict=True))
    places = iter(range(len(nodes)))  # sort calls `key` once for each node, in the order of the file
    graph.node.sort(key=lambda _: ranks[next(places)])
    return list(order) != sorted(order)


def names_read(node: NodeProto) -> Iterator[str]:
    """Yield the names that a node reads of the graph around it, those that its bodies read included."""
    yield from node.input
    for body in bodies([node]):
        made = {name for inner in body.node for name in inner.output}
        made.update(info.name for info in body.input)
        made.update(tensor.name for tensor in body.initializer)
        for inner in body.node:
            yield from (name for name in names_read(inner) if name not in made)
        yield from (info.name for info in body.output if info.name not in made)

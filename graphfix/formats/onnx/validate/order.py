"""Sort the nodes of a graph: each node follows those whose results it reads."""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.formats.neutral.insertion import rearrange
from graphfix.formats.onnx.file.messages import subgraphs
from graphfix.results.onnx_messages import GraphProto, NodeProto


def sort_nodes(graph: GraphProto) -> None:
    """Move each node of the main graph in front of the first node that reads its results.

    Tools that convert models to float16 append nodes behind their readers. onnxruntime sorts such a graph itself,
    and refuses bodies that are not sorted. Nodes of a cycle stay unsorted.
    """
    nodes = graph.node
    makers = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    keys = [-1] * len(nodes)
    placed = 0
    for first in range(len(nodes)):
        waiting = [(first, _makers(nodes[first], makers))]
        entered = {first}
        while waiting:
            at, needed = waiting[-1]
            before = next((maker for maker in needed if keys[maker] < 0 and maker not in entered), None)
            if before is not None:
                entered.add(before)
                waiting.append((before, _makers(nodes[before], makers)))
                continue
            waiting.pop()
            if keys[at] < 0:
                keys[at], placed = placed, placed + 1
    rearrange(nodes, keys)


def _makers(node: NodeProto, makers: dict[str, int]) -> Iterator[int]:
    """Yield the positions of the nodes whose results a node, or a body of it, reads."""
    return iter([makers[name] for name in _reads(node) if name in makers])


def _reads(node: NodeProto) -> Iterator[str]:
    yield from node.input
    for _, _, body in subgraphs([node]):
        own = {value.name for value in body.input} | {tensor.name for tensor in body.initializer}
        own.update(name for inner in body.node for name in inner.output)
        read = [name for inner in body.node for name in _reads(inner)]
        yield from (name for name in (*read, *(value.name for value in body.output)) if name not in own)

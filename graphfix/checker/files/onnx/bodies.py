"""The bodies of a model: the graphs that nodes such as If, Loop and Scan have as attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto


def graphs(attribute: AttributeProto) -> list[GraphProto]:
    """Return the bodies that an attribute holds."""
    return [*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs]


def bodies(nodes: Iterable[NodeProto]) -> Iterator[GraphProto]:
    """Return the bodies that nodes have as attributes, in order."""
    for node in nodes:
        for attribute in node.attribute:
            yield from graphs(attribute)


def every_node(model: ModelProto) -> Iterator[NodeProto]:
    """Yield every node of a model, in bodies and functions too."""
    for graph in every_graph(model.graph):
        yield from graph.node
    for function in model.functions:
        yield from function.node
        for body in bodies(function.node):
            for graph in every_graph(body):
                yield from graph.node


def every_graph(outer: GraphProto) -> Iterator[GraphProto]:
    """Yield a graph and every body inside it."""
    pending = [outer]
    while pending:
        graph = pending.pop()
        yield graph
        pending += bodies(graph.node)

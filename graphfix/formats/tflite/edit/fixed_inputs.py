"""Which inputs can't be resized any more: an operand that was stretched to stored sizes follows no other ones."""

from __future__ import annotations

from collections.abc import Iterable

from graphfix.graph.view import Graph, Node, Value


def pinned(main: Graph, nodes: Iterable[Node]) -> list[str]:
    """A line for each input of the main subgraph whose sizes reach a node that has such an operand."""
    pending = [operand for node in nodes if node.graph is main for operand in node.operands if operand is not None]
    seen: set[Value] = set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        producer = value.producer
        pending += [operand for operand in producer.operands if operand is not None] if producer is not None else []
    inputs = [
        value for value in main.inputs if value in seen and any(isinstance(n, int) for n in value.shape.axes or ())
    ]
    return [
        f"callers leave the input {value} at its stored sizes: a stretched operand follows no others"
        for value in inputs
    ]

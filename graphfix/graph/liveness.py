"""What still serves the model after edits: an edit that bypasses a node leaves what only served it until the end."""

from __future__ import annotations

from collections.abc import Sequence

from graphfix.graph.view import Graph, Node

MOST_NODES = 64
"""Of a computation of shapes: what goes further is taken to serve."""


def is_live(node: Node) -> bool:
    """Whether a node serves more than what edits bypassed; what the file itself has for nothing stays, and does."""
    seen = [node]
    for each in seen:
        results = [value for value in each.results if value is not None]
        if not results or any(value in value.graph.outputs or not value.was_read for value in results):
            return True
        seen += {reader for value in results for reader, _ in value.reads}.difference(seen)
        if len(seen) > MOST_NODES:
            return True
    return False


def served_nothing_else(graphs: Sequence[Graph]) -> frozenset[Node]:
    """Every node of the file that `is_live` calls none, however long its way: one look, from the last node back."""
    dead: set[Node] = set()
    for graph in reversed(graphs):  # bodies before what they stand in
        for node in reversed(graph.nodes):
            results = [value for value in node.results if value is not None]
            if results and all(
                value.was_read and value not in value.graph.outputs and all(reader in dead for reader, _ in value.reads)
                for value in results
            ):
                dead.add(node)
    return frozenset(dead)

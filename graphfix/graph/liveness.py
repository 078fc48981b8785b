"""Find nodes without effect after edits: if an edit bypasses a node, other nodes may have served only that node.

Such nodes remain in the view until the last edit.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphfix.graph.view import Graph, Node

MOST_NODES = 64
"""The most nodes that are followed; if a node leads to more nodes, it counts as live."""


def is_live(node: Node) -> bool:
    """Return whether a node still has an effect after edits have bypassed other nodes.

    It has an effect if its readers, or their readers, lead to an output of a graph or to a node without results. A
    result that was never read counts too, because the file itself contains it without need. More than `MOST_NODES`
    nodes count as an effect.
    """
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
    """Return all nodes that only led to bypassed nodes, so that they have no effect any more.

    These are the nodes for which `is_live` is False, but paths of any length are followed.
    """
    dead: set[Node] = set()
    for graph in reversed(graphs):  # Bodies are visited before the graphs that contain them.
        for node in reversed(graph.nodes):
            results = [value for value in node.results if value is not None]
            if results and all(
                value.was_read and value not in value.graph.outputs and all(reader in dead for reader, _ in value.reads)
                for value in results
            ):
                dead.add(node)
    return frozenset(dead)

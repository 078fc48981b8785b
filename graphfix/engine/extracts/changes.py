"""Every node before the edits and after them, in one order: what a diff of the notation is made of."""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.engine.extracts.excerpt import Snapshot, merged, without_taken
from graphfix.graph.view import Node
from graphfix.results import Change


def changes(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    """A pair for each node, in time that grows with their number; a node is known by its graph and first result."""
    after = without_taken(after, before)
    for key in merged(list(before.nodes), list(after.nodes)):
        yield Change(key[0], _text(before.nodes.get(key)), _text(after.nodes.get(key)))


def _text(node: Node | None) -> str | None:
    if node is None:
        return None
    return f"{node}    # {node.name}" if node.name else str(node)

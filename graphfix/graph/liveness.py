"""What still serves the model after edits: an edit that bypasses a node leaves what only served it until the end."""

from __future__ import annotations

from graphfix.graph.view import Node

MOST_STEPS = 16
"""Of a computation of shapes, from one node to its end: what goes further is taken to serve."""


def is_live(node: Node, steps: int = MOST_STEPS) -> bool:
    """Whether a node serves more than what edits bypassed; what the file itself has for nothing stays, and does."""
    results = [value for value in node.results if value is not None]
    for value in results if steps else ():
        if value in value.graph.outputs or not value.was_read:
            return True
        if any(is_live(reader, steps - 1) for reader, _ in value.reads):
            return True
    return not (results and steps)

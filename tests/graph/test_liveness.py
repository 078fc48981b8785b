"""What still serves a model after edits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from graphfix.graph.liveness import MOST_NODES, is_live


class Made:
    """A stand-in for a value of a graph, which these nodes read."""

    def __init__(self, *readers: object, was_read: bool = True, output: bool = False) -> None:
        self.reads, self.was_read = [(reader, 0) for reader in readers], was_read
        self.graph = SimpleNamespace(outputs=[self] if output else [])


class Reader:
    """A stand-in for a node."""

    def __init__(self, *results: object) -> None:
        self.results = results


def chain(count: int, last: object) -> Reader:
    """The first of so many nodes, of which each reads the one before."""
    node = Reader(last)
    for _ in range(count - 1):
        node = Reader(Made(node))
    return node


OUTPUT, UNREAD, BYPASSED = Made(output=True), Made(was_read=False), Made()


@pytest.mark.parametrize(
    ("node", "live"),
    [
        (Reader(OUTPUT), True),
        (Reader(UNREAD), True),
        (Reader(BYPASSED), False),
        (Reader(), True),
        (Reader(None), True),
        (Reader(BYPASSED, None), False),
        (Reader(BYPASSED, UNREAD), True),
        (chain(2, OUTPUT), True),
        (chain(2, BYPASSED), False),
        (Reader(Made(chain(2, BYPASSED), Reader(OUTPUT))), True),
        (Reader(Made(chain(2, BYPASSED), Reader(BYPASSED))), False),
        (chain(MOST_NODES, BYPASSED), False),
        (chain(MOST_NODES + 1, BYPASSED), True),
    ],
)
def test_a_node_is_live_where_something_that_was_not_bypassed_needs_it(node: Any, live: bool) -> None:  # noqa: ANN401
    assert is_live(node) == live

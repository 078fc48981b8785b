"""Where the new nodes of one graph stand: each made once, before its first reader; and which nodes were removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from graphfix.graph.view import Graph, Node, Value
from graphfix.results.records import dataclass, field


@dataclass(slots=True, eq=False, repr=False)
class Order:
    """The order of execution of a graph's nodes, those of the file and those that edits made."""

    graph: Graph
    anchors: list[int] = field(default_factory=list)
    """For each node of `graph.made`: the place of the file's node that it stands before."""
    early: set[int] = field(default_factory=set)
    """By place: nodes that stand before all others made for a position, for they were made after their readers."""
    gone: set[int] = field(default_factory=set)
    """The places of nodes that were removed."""
    made: dict[object, Value] = field(default_factory=dict)
    """By key: what was made for it; two readers of one thing share it."""

    @property
    def next_place(self) -> int:
        """The place that the next new node will have."""
        return -1 - len(self.anchors)

    def reuse(self, key: object, reader: int) -> Value | None:
        """Return what was made for this key, moved before `reader` if its first reader came later.

        What was taken out since, or has another shape now, is made again.
        """
        value = self.made.get(key)
        if value is None or value.place is None:
            return value
        producer = value.graph.at(value.place)
        if producer.index in self.gone or value not in producer.results:
            return None
        self.reuse_before(value, reader)
        return value

    def once(self, key: object, reader: int, make: Callable[[], Value]) -> Value:
        """Return the value that `reuse` returns for this key; if there is none, make the value and keep it."""
        found = self.reuse(key, reader)
        if found is None:
            found = self.made[key] = make()
        return found

    def reuse_before(self, value: Value, reader: int) -> None:
        """Move the node that made a value before `reader`, if it stands behind."""
        place = value.place
        if place is not None and place < 0 and value.graph is self.graph and reader < self.anchors[-1 - place]:
            self.anchors[-1 - place] = reader

    def enter(self, node: Node, reader: int) -> None:
        """Enter a node that was made for `reader` at the next place into the ledgers."""
        graph = self.graph
        graph.made.append(node)
        self.anchors.append(reader)
        for operand in node.operands:
            if operand is not None:
                graph.note(node.index, operand)

    def anchor(self, node: Node) -> int:
        """Return the original position that a node has, or that it stands before."""
        return node.index if node.index >= 0 else self.anchors[-1 - node.index]

    def arrange(self) -> None:
        """Sort the view's nodes, new ones before their readers, without those that are gone."""
        self._move_before_readers()
        file, made, anchors = self.graph.nodes, self.graph.made, self.anchors
        order = sorted(range(len(made)), key=anchors.__getitem__)
        if self.early:
            order.sort(key=lambda at: (anchors[at], -1 - at not in self.early))
        nodes: list[Node] = []
        done = 0
        for at in order:
            anchor = anchors[at]
            if anchor > done:
                nodes += file[done:anchor]
                done = anchor
            nodes.append(made[at])
        nodes += file[done:]
        self.graph.nodes = [node for node in nodes if node.index not in self.gone] if self.gone else nodes
        self.made.clear()  # nothing is made any more, and of a big model it is big

    def _move_before_readers(self) -> None:
        """Let no new node stand behind a new node that reads it."""
        for node in reversed(self.graph.made):
            for operand in node.operands:
                if operand is not None and operand.place is not None and operand.place < 0:
                    self.reuse_before(operand, self.anchors[-1 - node.index])

    def keys(self, count: int) -> Sequence[int]:
        """What a format sorts its records by after `arrange`, the file's `count` first; what is gone comes last."""
        keys = [count + len(self.anchors)] * (count + len(self.anchors))
        for position, node in enumerate(self.graph.nodes):
            keys[node.index if node.index >= 0 else count - 1 - node.index] = position
        return keys


class Sortable(Protocol):
    """A list, or a repeated field of a message."""

    def sort(self, *, key: Callable[[Any], int]) -> None:
        """Sort in place, stably; `key` is asked once for each item, in order."""


def rearrange(items: Sortable, keys: Iterable[int]) -> None:
    """Sort the items in place by keys that are there already, one for each of them."""
    following = iter(keys)
    items.sort(key=lambda _: next(following))

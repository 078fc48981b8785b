"""Order the nodes of one graph: each new node is made once and is placed before its first reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from graphfix.graph.view import Graph, Node, Value
from graphfix.results.records import dataclass, field


@dataclass(slots=True, eq=False, repr=False)
class Order:
    """The execution order of a graph's nodes: nodes of the file and nodes that edits made."""

    graph: Graph
    anchors: list[int] = field(default_factory=list)
    """For each node of `graph.made`, the index of the file's node in front of which it is placed."""
    early: set[int] = field(default_factory=set)
    """Indices of new nodes that are sorted before all others with the same anchor.

    They were made after nodes that read them.
    """
    gone: set[int] = field(default_factory=set)
    """The indices of nodes that were removed."""
    made: dict[object, Value] = field(default_factory=dict)
    """The value that was made for each key. Readers that request the same key share the value."""

    @property
    def next_place(self) -> int:
        """The index that the next new node will have: -1, -2, -3 ..."""
        return -1 - len(self.anchors)

    def reuse(self, key: object, reader: int) -> Value | None:
        """Return the value that was made for this key, or None if there is none yet.

        Its node is moved in front of the file's node `reader` if it was placed behind. Returns None too if the node was
        removed or if its result was replaced, for example by one with another shape.
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
        """Return the value that `reuse` returns for this key. If there is none, make the value and store it."""
        found = self.reuse(key, reader)
        if found is None:
            found = self.made[key] = make()
        return found

    def reuse_before(self, value: Value, reader: int) -> None:
        """Move the new node that computes a value in front of the file's node `reader`, if it is placed behind."""
        place = value.place
        if place is not None and place < 0 and value.graph is self.graph and reader < self.anchors[-1 - place]:
            self.anchors[-1 - place] = reader

    def enter(self, node: Node, reader: int) -> None:
        """Add a node that was made for the file's node `reader` to the graph, and note which values it reads.

        The node's index must be `next_place`.
        """
        graph = self.graph
        graph.made.append(node)
        self.anchors.append(reader)
        for operand in node.operands:
            if operand is not None:
                graph.note(node.index, operand)

    def anchor(self, node: Node) -> int:
        """Return the index of a node of the file.

        For a new node, return the index of the file's node that it is placed before.
        """
        return node.index if node.index >= 0 else self.anchors[-1 - node.index]

    def arrange(self) -> None:
        """Sort the nodes of the view: put new nodes in front of their readers, and drop removed nodes."""
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
        self.made.clear()  # No node is made any more, and the dict is large for a large model.

    def _move_before_readers(self) -> None:
        """Move each new node in front of the new nodes that read it."""
        for node in reversed(self.graph.made):
            for operand in node.operands:
                if operand is not None and operand.place is not None and operand.place < 0:
                    self.reuse_before(operand, self.anchors[-1 - node.index])

    def keys(self, count: int) -> Sequence[int]:
        """Return the sort keys by which a format sorts its own records after `arrange`.

        The list begins with the file's `count` nodes, and the nodes of `graph.made` follow. Removed nodes get the
        largest key, so they are last.
        """
        keys = [count + len(self.anchors)] * (count + len(self.anchors))
        for position, node in enumerate(self.graph.nodes):
            keys[node.index if node.index >= 0 else count - 1 - node.index] = position
        return keys


class Sortable(Protocol):
    """A list, or a repeated field of a protobuf message."""

    def sort(self, *, key: Callable[[Any], int]) -> None:
        """Sort in place and stably. `key` is called once for each item, in order."""


def rearrange(items: Sortable, keys: Iterable[int]) -> None:
    """Sort the items in place by `keys`, which contain one key for each item, in the order of the items."""
    following = iter(keys)
    items.sort(key=lambda _: next(following))

"""What reports call a node that the file gives no name: `Op#index` in the file that was read, whatever edits moved.

A format builds its view anew where edits made more known; there the file's nodes are counted together with made ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphfix.graph.view import Graph, Node
from graphfix.results import Site
from graphfix.results.records import dataclass, field
from graphfix.results.sites import Sites

Names = Mapping[tuple[str, str], str]
"""By graph and label in a view: what reports call the node."""


@dataclass(slots=True)
class Labels:
    """The nodes of the view that a run began with."""

    first: Sequence[Graph]
    began: Mapping[str, Sequence[Node]] = field(init=False)
    known: dict[tuple[str, str], str] = field(default_factory=dict)
    """By graph and first result: the label of a node of the file."""
    latest: tuple[Graph | None, Names] = (None, {})
    """The main graph of the view that was asked about last, and its names."""

    def __post_init__(self) -> None:
        """Keep the nodes: edits replace those of the graphs."""
        self.began = {graph.path: tuple(graph.nodes) for graph in self.first}

    def names(self, graphs: Sequence[Graph]) -> Names | None:
        """What the nodes of a view are called where its labels say something else; None for the view of the file."""
        main = graphs[0]
        if main is self.first[0]:
            return None
        if self.latest[0] is not main:
            self.known = self.known or {
                (path, _result(node)): node.label
                for path, nodes in self.began.items()
                for node in reversed(nodes)
                if not node.name
            }
            nodes = ((graph.path, node) for graph in graphs for node in graph.nodes if not node.name)
            called = {
                (path, node.label): self.known.get((path, _result(node))) or _result(node) for path, node in nodes
            }
            self.latest = main, {key: name for key, name in called.items() if name != key[1]}
        return self.latest[1]

    def rename(self, sites: Sites, first: int, names: Names | None) -> None:
        """Let the sites from `first` on name their nodes as the file does."""
        for at, label, site in sites.named("#", first):
            name = self._replaced(label, site) if names is None else names.get((site.graph, label))
            if name is not None:
                sites.rename(at, name)

    def of(self, node: Node, names: Names | None) -> str:
        """What the file calls a node of a view with these names."""
        if names is not None:
            return names.get((node.graph.path, node.label), node.label)
        return node.name or self.began[node.graph.path][node.index].label

    def _replaced(self, label: str, site: Site) -> str | None:
        """In the view of the file: the label of a node in whose place an edit has put another operator."""
        op, _, index = label.rpartition("#")
        nodes = self.began[site.graph]
        if op != site.op or not index.isdecimal() or int(index) >= len(nodes) or nodes[int(index)].op == op:
            return None
        return nodes[int(index)].label


def _result(node: Node) -> str:
    return next((result.name for result in node.results if result is not None), node.label)

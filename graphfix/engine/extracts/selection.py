"""Select the nodes that `show` prints: by name or operator, around a node, or in a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TypeAlias

from graphfix.graph.view import Graph, Node
from graphfix.results import GraphfixError
from graphfix.results.error_texts import hint, shown
from graphfix.results.records import dataclass

Place: TypeAlias = tuple[int, int]
"""A node's position: the identity of its graph, and its index in that graph."""
MOST_NAMES = 20_000
"""The most names among which a similar name is searched; the search takes seconds for more."""


@dataclass(frozen=True, slots=True)
class NodeSelection:
    """The nodes that `show` prints: those that fulfil all of these conditions."""

    maps: bool = False
    """Whether the indexing maps are printed too."""
    broadcasts_only: bool = False
    nodes: str | None = None
    """A pattern for names and operators of nodes."""
    around: tuple[str, int] | None = None
    """A node (its name, `Op#index`, or the name of a result), and the most edges between it and a printed node."""
    graphs: str | None = None
    """A pattern for the paths of graphs."""

    def __post_init__(self) -> None:
        """Check the types. Raises GraphfixError."""
        for name, wanted in (("maps", self.maps), ("broadcasts_only", self.broadcasts_only)):
            if not isinstance(wanted, bool):
                raise GraphfixError(f"{name} is {shown(wanted)}; give True or False")
        for name, pattern in (("nodes", self.nodes), ("graphs", self.graphs)):
            if not isinstance(pattern, str | None):
                raise GraphfixError(f"{name} is {shown(pattern)}; give a text with a pattern, or None")
        if self.around is not None and not _is_node_and_number(self.around):
            raise GraphfixError(f"around is {shown(self.around)}; give a node's name and a number, such as ('add', 2)")

    @property
    def selects_all(self) -> bool:
        """Return whether all nodes are selected."""
        return not self.broadcasts_only and self.nodes is None and self.around is None and self.graphs is None

    @property
    def only_scopes(self) -> bool:
        """Return whether all nodes of the selected graphs are selected."""
        return not self.broadcasts_only and self.nodes is None and self.around is None


def _is_node_and_number(around: object) -> bool:
    if not isinstance(around, tuple | list) or len(around) != 2:  # noqa: PLR2004 - the name and the number
        return False
    return isinstance(around[0], str) and isinstance(around[1], int)


def selected(graphs: Sequence[Graph], selection: NodeSelection) -> Mapping[int, frozenset[int] | None]:
    """Return by identity of a graph the indices of its selected nodes; None if all nodes are selected.

    Raises GraphfixError for a node or a graph that does not exist.
    """
    scopes = _scopes(graphs, selection.graphs)
    taken: dict[int, frozenset[int] | None] = {id(graph): frozenset() for graph in graphs}
    near = None if selection.around is None else _around(graphs, scopes, *selection.around)
    if selection.nodes is not None:
        _refuse_unmatched([node for graph in scopes for node in graph.nodes], selection.nodes)
    for graph in scopes:
        if near is None and selection.nodes is None:
            taken[id(graph)] = None
            continue
        places = (node.index for node in graph.nodes if selection.nodes is None or _matches(node, selection.nodes))
        taken[id(graph)] = frozenset(place for place in places if near is None or (id(graph), place) in near)
    return taken


def _scopes(graphs: Sequence[Graph], pattern: str | None) -> Sequence[Graph]:
    if pattern is None:
        return graphs
    found = [graph for graph in graphs if matches(graph.path, pattern)]
    if not found:
        raise GraphfixError(f"no graph {pattern!r}{_known(pattern, [graph.path for graph in graphs])}")
    return found


def matches(text: str, pattern: str) -> bool:
    """Return whether `text` fits a pattern: `*` stands for any characters, `?` for one.

    Brackets have no special meaning, because names of nodes contain them.
    """
    return fnmatchcase(text, pattern.replace("[", "[[]"))


def _refuse_unmatched(nodes: Sequence[Node], pattern: str) -> None:
    """Raise GraphfixError if no node fits the pattern. An empty listing of a misspelt name would be misleading."""
    if not any(_matches(node, pattern) for node in nodes):
        node_names = dict.fromkeys(name for node in nodes for name in (node.op, node.label))
        raise GraphfixError(f"no node {pattern!r}{_known(pattern, list(node_names))}")


def _matches(node: Node, pattern: str) -> bool:
    return matches(node.label, pattern) or matches(node.op, pattern)


def _around(graphs: Sequence[Graph], scopes: Iterable[Graph], name: str, edges: int) -> set[Place]:
    """Return the positions of the nodes at most `edges` edges away from the nodes or results called `name`."""
    if edges < 0:
        raise GraphfixError(f"around {name!r}: a number of edges is at least 0, not {edges}")
    reached = [node for graph in scopes for node in graph.nodes if name in _names(node)]
    if not reached:
        node_names = [each for graph in graphs for node in graph.nodes for each in _names(node)]
        raise GraphfixError(f"no node or result {name!r}{_known(name, node_names)}")
    found = {_place(node) for node in reached}
    for _ in range(edges):
        beside = {_place(node): node for each in reached for node in _neighbours(each)}
        reached = [node for place, node in beside.items() if place not in found]
        found.update(beside)
    return found


def _names(node: Node) -> Iterator[str]:
    yield node.label
    yield f"{node.op}#{node.index}"
    yield from (value.name for value in node.results if value is not None)


def _place(node: Node) -> Place:
    return id(node.graph), node.index


def _neighbours(node: Node) -> Iterator[Node]:
    """Yield the nodes that produce the node's operands, and the nodes that read its results."""
    for value in node.operands:
        if value is not None and value.producer is not None:
            yield value.producer
    for value in node.results:
        if value is not None:
            yield from (reader for reader, _ in value.reads)


def _known(name: str, names: Sequence[str]) -> str:
    how = "; graphfix show without it lists them all"
    return hint(name, names, how) if len(names) <= MOST_NAMES else how

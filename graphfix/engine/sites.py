"""Make the sites of a run, the names of nodes in reports, and the note about unknown operators.

A run has a site for each edit and for each operand that is left alone.

`Labels` gives a node without a name the label `Op#index`, with its index in the file that was read. This index must be
stored, because a format rebuilds its view after edits and then also counts inserted nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from graphfix import operators
from graphfix.graph.edits import (
    Assume,
    Bypass,
    Canonicalize,
    DropMetadata,
    Edit,
    Fold,
    Leave,
    Lift,
    Restate,
    StateShape,
    Stretch,
    Upgrade,
)
from graphfix.graph.view import Graph, Node, Value
from graphfix.operators.row import TFLITE, standard
from graphfix.results import Site
from graphfix.results.excerpt import JsonShape
from graphfix.results.records import dataclass, field
from graphfix.results.sites import Sites
from graphfix.shapes.shape import with_axes

SiteFields: TypeAlias = tuple[str, int | None, JsonShape, JsonShape]
"""The fields of a site that follow from an edit: code, operand, and the operand's shape before and after."""


MOST_LISTED = 3
"""The most operators that the note about unknown operators lists by name."""
Names = Mapping[tuple[str, str], str]
"""By graph and label of a node in a view: the name of the node in reports."""


def left(code: str, node: Node, operand: int | None, reason: str, rewrite: str | None) -> Site:
    """Return the site of an operand (or of a node, if `operand` is None) that is left alone for `reason`."""
    shape = _json(node.operands[operand]) if operand is not None else None
    return Site(code, node.label, node.op, node.graph.path, operand, shape, None, "left", rewrite, reason)


def kept(node: Node, edits: Sequence[Edit], rewrite: str | None) -> Iterator[Site]:
    """Yield the sites of `Leave` and `Assume`, which change no operand."""
    for edit in edits:
        if isinstance(edit, Leave):
            found = left(edit.code, node, edit.operand, edit.reason, rewrite)
            yield replace(found, status=edit.status, blocks=edit.blocks)
        elif isinstance(edit, Assume):
            reason = f"it is assumed that {edit.text}"
            yield replace(left(edit.code, node, edit.operand, reason, rewrite), status="exempt")


def fields(edit: Edit, before: Sequence[Value | None], after: Sequence[Value | None]) -> SiteFields:
    """Return the fields of a site for an edit.

    `before` and `after` are the node's operands before and after the edit.
    """
    operand = operand_of(edit)
    was = _json(before[operand or 0]) if before else None
    match edit:
        case Stretch() | Canonicalize() | Restate():
            now = edit.to.json
        case Lift():
            value = before[edit.operand]
            now = with_axes(value.shape, edit.axes).json if value is not None and value.shape.ranked else None
        case Bypass():
            now = _json(edit.source)
        case Fold():
            now = was
        case StateShape():
            was, now = None, edit.value.shape.json
        case _:
            now = _json(after[0] if after else None)
    return edit.code, operand, was, now


def stated_in_file(edit: Edit, node: Node) -> str | None:
    """Return a sentence about the statement in the file that an edit changes; None for an edit of nodes or operands."""
    match edit:
        case Upgrade():
            return f"the model is of operator set {node.version}, not {edit.version}"
        case DropMetadata():
            return f"the file has the metadata entry {edit.name!r}: {edit.why}"
        case StateShape():
            return edit.why
        case _:
            return None


def operand_of(edit: Edit) -> int | None:
    """Return the index of the operand that an edit changes; None if it changes the node or the file."""
    match edit:
        case Lift() | Stretch() | Bypass() | Restate() | Fold():
            return edit.operand
        case Canonicalize():
            return 0
        case _:
            return None


def _json(value: Value | None) -> JsonShape:
    return value.shape.json if value is not None else None


def unknown_operators(graphs: Sequence[Graph]) -> Iterator[str]:
    """Yield a note about the nodes whose operators are not in the catalogue, if there are any.

    A call of one of the model's functions is not unknown.
    """
    known_operators = {(row.domain, row.op) for row in operators.rows()} | operators.NOT_BROADCASTING
    paths = {graph.path for graph in graphs}
    found = Counter(
        (standard(node.domain), node.op)
        for graph in graphs
        for node in graph.nodes
        if node.row is None and f"function {node.domain}.{node.op}" not in paths
    )
    unknown = {operator: number for operator, number in found.items() if operator not in known_operators}
    if not unknown:
        return
    number = sum(unknown.values())
    names = [f"{domain}.{op}" if domain and not domain.startswith(TFLITE) else op for domain, op in unknown]
    more = [f"{len(names) - MOST_LISTED} more"] if len(names) > MOST_LISTED else []
    listed = ", ".join([*names[:MOST_LISTED], *more])
    nodes = "1 node has an operator" if number == 1 else f"{number} nodes have operators"
    yield f"{nodes} that graphfix does not know and did not check: {listed}"


@dataclass(slots=True)
class Labels:
    """The names of nodes in reports: the labels of the view with which a run began."""

    first: Sequence[Graph]
    began: Mapping[str, Sequence[Node]] = field(init=False)
    labels_by_node: dict[tuple[str, str], str] = field(default_factory=dict)
    """By graph and first result: the label of an unnamed node of the file."""
    latest: tuple[Graph | None, Names] = (None, {})
    """The main graph of the last view that was passed to `names`, and the names that were returned for it."""

    def __post_init__(self) -> None:
        """Copy the lists of nodes, because edits change the lists of the graphs."""
        self.began = {graph.path: tuple(graph.nodes) for graph in self.first}

    def names(self, graphs: Sequence[Graph]) -> Names | None:
        """Return the names of the nodes whose labels in this view differ from those in the file.

        Return None for the view with which the run began.
        """
        main = graphs[0]
        if main is self.first[0]:
            return None
        if self.latest[0] is not main:
            self.labels_by_node = self.labels_by_node or {
                (path, _result(node)): node.label
                for path, nodes in self.began.items()
                for node in reversed(nodes)
                if not node.name
            }
            nodes = ((graph.path, node) for graph in graphs for node in graph.nodes if not node.name)
            called = {
                (path, node.label): self.labels_by_node.get((path, _result(node))) or _result(node)
                for path, node in nodes
            }
            self.latest = main, {key: name for key, name in called.items() if name != key[1]}
        return self.latest[1]

    def rename(self, sites: Sites, first: int, names: Names | None) -> None:
        """Rename the nodes in the sites from index `first` on to their names in the file."""
        for at, label, site in sites.with_mark("#", first):
            name = self._replaced(label, site) if names is None else names.get((site.graph, label))
            if name is not None:
                sites.rename(at, name)

    def of(self, node: Node, names: Names | None) -> str:
        """Return the name of a node in the file. `names` is the result of the method `names` for the node's view."""
        if names is not None:
            return names.get((node.graph.path, node.label), node.label)
        return node.name or self.began[node.graph.path][node.index].label

    def _replaced(self, label: str, site: Site) -> str | None:
        """Return the label in the file of a node that an edit replaced by another operator; None for any other node."""
        op, _, index = label.rpartition("#")
        nodes = self.began[site.graph]
        if op != site.op or not index.isdecimal() or int(index) >= len(nodes) or nodes[int(index)].op == op:
            return None
        return nodes[int(index)].label


def _result(node: Node) -> str:
    return next((result.name for result in node.results if result is not None), node.label)

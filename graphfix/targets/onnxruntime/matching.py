"""Find the patterns of `fusions` in a graph, to know which operands' shapes onnxruntime's fusions compare.

The search for a pattern begins at its rarest operator. From there, producers and readers lead to the other lines, in an
order that is computed once. Patterns with equal first steps share these steps, so a graph is searched in one pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Literal, TypeAlias

from graphfix.graph.view import Graph, Node, Value
from graphfix.results.records import dataclass
from graphfix.targets.onnxruntime.patterns import Line, Operator, Outside, Pattern, Step, is_identity, met, patterns

Change: TypeAlias = Literal["rank", "sizes"]
"""The part of an operand's shape that an edit changes: unit axes are added or removed, or axes are stretched or not."""
FEW = 16
"""A link has at most this many readers. Values with more readers are not searched."""


@dataclass(frozen=True, slots=True)
class Place:
    """A node that matches one line of a found pattern."""

    pattern: Pattern
    line: Line
    order: tuple[int, ...]
    """For each operand of the line, the index of the node's operand that matched it."""
    version: str | None
    """The version of onnxruntime whose fusions are meant; None: all measured versions."""

    def ends(self, node: Node, operand: int, change: Change, by: Collection[int]) -> bool:
        """Return whether a change of an operand's shape prevents the fusion.

        A new node on a link always prevents it, and so does a new reader of a link's run-time shape. Any other operand
        prevents the fusion if its mark forbids the `change`. `operand` is the index of the changed operand. `by` are
        the indices of the operands whose run-time shapes the new node reads.
        """
        for outside, index in zip(self.line.operands, self.order, strict=True):
            link = outside.name in self.pattern.links
            kept = link or (self._asks(outside) and _is_kept(outside, change, node))
            if (index == operand and kept) or (link and index in by):
                return True
        return False

    def _asks(self, operand: Outside) -> bool:
        """Return whether the matcher of this version of onnxruntime compares the marked part of the operand's shape."""
        return self.version is None or operand.asked.include(self.version)


@dataclass(frozen=True, slots=True)
class Fusions:
    """The fusions that one node is part of."""

    places: Sequence[Place]

    def fused(self, node: Node, operand: int, change: Change, by: Collection[int] = ()) -> str | None:
        """Return the name of the first fusion that a change of an operand's shape prevents, or None without one.

        `by` are the indices of the node's operands whose run-time shapes the changed operand would be stretched to.
        """
        return next((place.pattern.name for place in self.places if place.ends(node, operand, change, by)), None)


@dataclass(frozen=True, slots=True)
class Match:
    """A partly matched pattern: the matched nodes and their orders of operands by line, and the values by name."""

    nodes: Mapping[int, Node]
    values: Mapping[str, Value]
    orders: Mapping[int, tuple[int, ...]]


def find(graph: Graph, version: str | None = None) -> Mapping[int, Fusions]:
    """Return node index -> fusions that the node is part of, for the nodes of `graph` but not of its bodies.

    `version` is a version of onnxruntime; with None, the fusions of all measured versions are returned.
    """
    found: dict[int, list[Place]] = {}
    for node in graph.nodes:
        matches_by_node: dict[int, list[Match]] = {}
        for pattern in _fitting(node) if (node.domain, node.op) in patterns() else ():
            if version is not None and not pattern.versions.include(version):
                continue
            for match in _matches(pattern, node, matches_by_node):
                for at in pattern.own:
                    place = Place(pattern, pattern.lines[at], match.orders[at], version)
                    found.setdefault(match.nodes[at].index, []).append(place)
    return {place: Fusions(fusions) for place, fusions in found.items()}


def _is_kept(operand: Outside, change: Change, node: Node) -> bool:
    """Return whether the mark of an operand forbids the change of its shape."""
    if operand.mark == "^" and change == "rank":
        return any(result is not None and not result.shape.static for result in node.results)
    return operand.mark == "!" or (bool(operand.mark) and change == "sizes")


# --- matching ---------------------------------------------------------------------------------------------------------


def _fitting(node: Node) -> Sequence[Pattern]:
    """Return the patterns whose search begins at the node and whose neighbouring operators are beside the node, too."""
    before = (_source(operand).producer for operand in node.operands if operand is not None)
    behind = (reader for result in node.results if result is not None for reader in _readers(result))
    return _around(
        (node.domain, node.op),
        frozenset((each.domain, each.op) for each in before if each is not None),
        frozenset((each.domain, each.op) for each in behind),
    )


@cache
def _around(operator: Operator, before: frozenset[Operator], behind: frozenset[Operator]) -> Sequence[Pattern]:
    """Return the patterns whose search begins at `operator` and needs only the operators `before` and `behind` it."""
    return [each for each in patterns()[operator] if each.before <= before and each.behind <= behind]


def _matches(pattern: Pattern, node: Node, matches_by_node: dict[int, list[Match]]) -> Iterator[Match]:
    """Yield the matches of the pattern that begin at the node.

    `matches_by_node` caches the partial matches by the number of the steps that lead to them, because patterns share
    first steps.
    """
    if pattern.until is not None and node.version > pattern.until:
        return
    matches = [Match({}, {}, {})]
    for step, beginning in zip(pattern.steps, pattern.beginnings, strict=True):
        if beginning not in matches_by_node:
            matches_by_node[beginning] = [further for match in matches for further in _further(step, node, match)]
        matches = matches_by_node[beginning]
        if not matches:
            return
    yield from (match for match in matches if _is_closed(pattern, match))


def _further(step: Step, start: Node, match: Match) -> Iterator[Match]:
    """Yield `match` extended by one node: for each candidate of the step, and each order of its operands."""
    for node in _candidates(step, start, match):
        if (node.domain, node.op) == step.line.operator and node not in match.nodes.values():
            for order in step.line.orders:
                values = _bound(step.line, order, node, match)
                if values is not None:
                    yield Match({**match.nodes, step.at: node}, values, {**match.orders, step.at: order})


def _candidates(step: Step, start: Node, match: Match) -> Sequence[Node]:
    """Return nodes that may match the step's line: the start node, or the producer or readers of a matched value."""
    if step.by is None:
        return (start,)
    value = match.values[step.by]
    if step.is_reader:
        return list(_readers(value))
    producer = _source(value).producer
    return () if producer is None else (producer,)


def _bound(line: Line, order: tuple[int, ...], node: Node, match: Match) -> dict[str, Value] | None:
    """Return the matched values by name if the node's operands and results fit the line; None if they do not."""
    values = dict(match.values)
    for operand, index in zip(line.operands, order, strict=True):
        given = node.operands[index] if index < len(node.operands) else None
        value = None if given is None else _source(given)
        if value is None or values.setdefault(operand.name, value) is not value or not met(operand, value, node):
            return None
    for name, result in zip(line.results, node.results, strict=False):
        if result is None or values.setdefault(name, result) is not result:
            return None
    return values


def _is_closed(pattern: Pattern, match: Match) -> bool:
    """Return whether no node outside the match reads a value that the fusion would remove.

    More readers are only permitted for a link that is `shared`, and only if the pattern contains their operator.
    """
    inside = match.nodes.values()
    for name, at in pattern.links.items():
        value = match.values[name]
        others = [node for node in _readers(value) if node not in inside]
        if value in value.graph.outputs or (others and not pattern.lines[at].shared):
            return False
        if any((node.domain, node.op) not in pattern.operators for node in others):
            return False
    return True


def _source(value: Value) -> Value:
    """Return the value behind the nodes that onnxruntime removes first, such as Identity."""
    producer = value.producer
    while producer is not None and is_identity(producer):
        value = producer.operand(0)
        producer = value.producer
    return value


def _readers(value: Value) -> Iterator[Node]:
    """Yield the nodes that read a value, behind nodes that onnxruntime removes first.

    Yields nothing for a value with more than `FEW` readers.
    """
    if len(value.places) > FEW:
        return
    for node in {id(node): node for node, _ in value.reads}.values():
        result = node.results[0] if node.results and is_identity(node) else None
        if result is not None and result not in result.graph.outputs:
            yield from _readers(result)
        else:
            yield node

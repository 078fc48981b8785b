"""What was edited or found, by operand: how many there are, and the steps of the first; none is made to be counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from graphfix.results import Site
from graphfix.results.sites import Kind, rows

Operand: TypeAlias = tuple[str, str, int | None]
"""Graph, node and operand; None for a whole node."""
DONE = ("changed", "found")
"""The statuses of what was edited or found."""


def done(kinds: Iterable[Kind]) -> list[Kind]:
    """The kinds of what was edited or found."""
    return [kind for kind in kinds if kind[0].status in DONE]


def number_of_operands(kinds: Iterable[Kind]) -> int:
    """How many operands sites of these kinds are about, however many steps each took."""
    return _distinct(((site.graph, site.operand), nodes) for site, nodes in kinds)


def number_of_nodes(kinds: Iterable[Kind]) -> int:
    """How many nodes they are of."""
    return _distinct((site.graph, nodes) for site, nodes in kinds)


def _distinct(named: Iterable[tuple[object, Sequence[str]]]) -> int:
    """How many there are with different names, or of different places."""
    by_place: dict[object, list[Sequence[str]]] = {}
    for place, nodes in named:
        by_place.setdefault(place, []).append(nodes)
    return sum(len(set[str]().union(*nodes)) for nodes in by_place.values())


def first_operands(sites: Sequence[Site], most: int) -> dict[Operand, list[Site]]:
    """The steps of as many operands as were edited or found first; a step may be of a node like it."""
    first: dict[Operand, list[Site]] = {}
    for node, site in rows(sites):
        if len(first) == most:
            break
        if site.status in DONE:
            first[site.graph, node, site.operand] = []
    names = {node for _, node, _ in first}
    for node, site in rows(sites):
        if node in names and site.status in DONE and (steps := first.get((site.graph, node, site.operand))) is not None:
            steps.append(site)
    return first

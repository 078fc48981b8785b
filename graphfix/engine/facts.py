"""What the view claims of the sizes that broadcasting operators read, and which of that has no witness.

The runs of the original witness what they can. Where no runtime runs it, what leans on a stored shape, or on another
program's inference, is not planned by: the sites that stay for it are listed with that reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from graphfix.graph.protocols import Model
from graphfix.graph.view import Graph, Value
from graphfix.results import ClaimedShape, Claims, Site, Term
from graphfix.shapes.shape import Shape

Leaning: TypeAlias = dict[tuple[str, str], str]
"""By graph and node: the first operand whose shape leans on what has no witness."""


def claims(model: Model) -> Claims:
    """The shape of every operand, constants aside, of every operator that has a row in the catalogue.

    All of them count, edited or not: an operand that stays because its shape equals another's leans on sizes too. A
    value without a rank has no claim, nor has one whose stored shape is known to be wrong: nothing is planned by it.
    """
    graphs = model.graphs
    main = graphs[0]
    shapes: dict[Shape, ClaimedShape] = {}
    values: dict[str, ClaimedShape] = {}
    elsewhere = 0
    for value in _operands(graphs):
        if value.graph is not main:
            elsewhere += 1
        else:
            values[value.name] = _claimed(value.shape, shapes)
    inputs = {value.name: _claimed(value.shape, shapes) for value in main.inputs if value.shape.ranked}
    return Claims(inputs, values, elsewhere, model.believed)


def _operands(graphs: Sequence[Graph]) -> Iterator[Value]:
    """Every value that such an operator reads and whose rank is known by inference, once."""
    seen: set[Value] = set()  # values are equal by identity
    for graph in graphs:
        for node in graph.nodes:
            if node.row is None:
                continue
            for value in node.operands:
                if value is None or value in seen:
                    continue
                seen.add(value)
                if value.kind != "constant" and value.stale is None and value.shape.ranked:
                    yield value


def _claimed(shape: Shape, known: dict[Shape, ClaimedShape]) -> ClaimedShape:
    """A shape as plain data; big models have few distinct ones."""
    claimed = known.get(shape)
    if claimed is None:
        claimed = known[shape] = tuple(
            [size if isinstance(size, int) else Term(size.parts, size.lo, size.hi) for size in shape.dims]
        )
    return claimed


def leaning(model: Model) -> Leaning:
    """The nodes that read a value whose shape leans on a stored one, or on another program's inference."""
    names = set(model.leaning)
    return {
        (graph.path, node.label): value.name
        for graph in model.graphs
        for node in (graph.nodes if names else ())
        for value in reversed(node.operands)
        if value is not None and (value.graph.path, value.name) in names
    }


def unwitnessed(sites: Sequence[Site], before: Collection[Site], leans: Leaning) -> list[Site]:
    """The sites of a plan by own facts alone: what is left now, and was not `before`, says why.

    So does what was done before, and by own facts alone is nothing to do.
    """
    kept = {(site.graph, site.node, site.operand) for site in before if site.status == "left"}
    named = {(site.graph, site.node, site.operand) for site in sites}
    undone = [
        replace(site, status="left", after=None, reason="", bytes=0)
        for site in before
        if site.status == "changed" and (site.graph, site.node, site.operand) not in named
    ]
    found = (_unwitnessed(site, kept, leans.get((site.graph, site.node))) for site in (*sites, *undone))
    return [site for site in found if site.status != "left" or site.reason]


def _unwitnessed(site: Site, kept: Collection[tuple[str, str, int | None]], value: str | None) -> Site:
    if site.status != "left" or value is None or (site.graph, site.node, site.operand) in kept:
        return site
    why = "leans on a stored shape or on another program's inference"
    return replace(site, reason=f"no runtime runs all of the model, and the size of '{value}' {why}")

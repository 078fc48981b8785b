"""Collect the claims of the view about sizes that broadcasting operators read, for comparison with runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphfix.graph.protocols import Model
from graphfix.graph.view import Graph, Value
from graphfix.results import ClaimedShape, Claims, Term
from graphfix.shapes.shape import Shape


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

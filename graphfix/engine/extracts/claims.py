"""Collect the shapes that the view claims for operands of broadcasting operators, for comparison with runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphfix.graph.protocols import Model
from graphfix.graph.view import Graph, Value
from graphfix.results.claims import ClaimedShape, Claims, Term
from graphfix.shapes.dim import Shape


def claims_of(model: Model) -> Claims:
    """Return the shape of each operand, constants aside, of each operator that has a row in the catalogue.

    Operands that no edit changes are included: whether they may stay depends on their sizes too. A value without a
    rank is left out, and so is a value whose stored shape is known to be wrong, because no plan relies on it.
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
    """Yield each value that a broadcasting operator reads and whose rank was inferred; constants are left out.

    A value is yielded once, however many operators read it.
    """
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


def _claimed(shape: Shape, claimed_shapes: dict[Shape, ClaimedShape]) -> ClaimedShape:
    """Return a shape as plain data; `claimed_shapes` caches it, because large models have few distinct shapes."""
    claimed = claimed_shapes.get(shape)
    if claimed is None:
        claimed = claimed_shapes[shape] = tuple(
            [size if isinstance(size, int) else Term(size.parts, size.lo, size.hi) for size in shape.dims]
        )
    return claimed

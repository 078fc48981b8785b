"""How often a WHILE runs its body, where whole numbers that are known before the model runs decide it."""

from __future__ import annotations

from typing import Final

from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import Operator
from graphfix.formats.tflite.infer.subgraphs import Analysis, Known
from graphfix.graph.view import Node, Trips, Value
from graphfix.shapes.shape import UNRANKED

MOST_OPERATORS: Final = 1 << 14
"""Of all trips that are followed."""
UNKNOWN_TRIPS: Final = 1 << 6
"""So often a loop inside another one counts: how often it runs is known once the outer one is unrolled."""
FOLLOWED: Final = frozenset({"int32", "int64", "bool"})


def trips(container: Container, node: Node, operator: Operator) -> Trips | None:
    """How often a loop runs its body; None for another operator, and where its condition is not known each time.

    The condition and the body are followed as they run, on the shapes and the numbers of the trip before.
    """
    options = container.options(operator)
    bodies = [options.get(name) for name in ("cond_subgraph_index", "body_subgraph_index")]
    test, body = (at if isinstance(at, int) and 0 < at < len(container.subgraphs) else None for at in bodies)
    if test is None or body is None:
        return None
    nodes = _weight(container, body, {})
    analysis, values = Analysis(container, {}), [_known(value) for value in node.operands]
    for count in range(1 + MOST_OPERATORS // max(1, nodes)):
        decisions = [elements for _, elements in analysis.evaluated(test, values)]
        if decisions not in ([(0,)], [(1,)]):
            return None
        if decisions == [(0,)]:
            return Trips(count, nodes)
        values = analysis.evaluated(body, values)
    return None


def _weight(container: Container, index: int, known: dict[int, int]) -> int:
    """Return the nodes of one trip, with the loops inside it unrolled: unrolling the outer loop unrolls them too."""
    if index not in known:
        operators = container.subgraphs[index].operators
        known[index] = len(operators) + sum(_weight_inside(container, each, known) for each in operators)
    return known[index]


def _weight_inside(container: Container, operator: Operator, known: dict[int, int]) -> int:
    """Return the nodes that unrolling an operator adds: a WHILE's body so many times; 0 for any other operator."""
    body = container.options(operator).get("body_subgraph_index")
    if not isinstance(body, int) or not 0 < body < len(container.subgraphs):
        return 0
    return UNKNOWN_TRIPS * _weight(container, body, known)


def _known(value: Value | None) -> Known:
    if value is None:
        return UNRANKED, None
    elements = value.elements if value.dtype in FOLLOWED else None
    return value.shape, tuple(map(int, elements)) if elements is not None else None

"""Find the nodes whose operators are in neither list of the catalogue; the pipeline notes them in each outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from graphfix import operators
from graphfix.graph.view import Graph
from graphfix.operators.row import TFLITE, standard

LISTED = 3
"""How many operators the note lists by name."""


def notes(graphs: Sequence[Graph]) -> Iterator[str]:
    """Yield the note about these nodes, if there are any. A call of one of the model's functions is not unknown."""
    known = {(row.domain, row.op) for row in operators.rows()} | operators.NOT_BROADCASTING
    paths = {graph.path for graph in graphs}
    found = Counter(
        (standard(node.domain), node.op)
        for graph in graphs
        for node in graph.nodes
        if node.row is None and f"function {node.domain}.{node.op}" not in paths
    )
    unknown = {operator: number for operator, number in found.items() if operator not in known}
    if not unknown:
        return
    number = sum(unknown.values())
    names = [f"{domain}.{op}" if domain and not domain.startswith(TFLITE) else op for domain, op in unknown]
    listed = ", ".join([*names[:LISTED], *([f"{len(names) - LISTED} more"] if len(names) > LISTED else [])])
    nodes = "1 node has an operator" if number == 1 else f"{number} nodes have operators"
    yield f"{nodes} that graphfix does not know and did not check: {listed}"

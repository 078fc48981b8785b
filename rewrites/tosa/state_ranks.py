"""State the shape of a result for which the file states no rank (TFLite only; only with target tosa, or by name).

    m[] = REDUCE_MAX(x[2,3], axes)    stored without sizes and without has_rank
    m[] = REDUCE_MAX(x[2,3], axes)    has_rank: true

Converters before 2023 wrote no `has_rank`, so their files have scalars that read as tensors of unknown rank. The
converter to TOSA then leaves the operators around the scalar as they are. LiteRT computes the shape of every result
itself, and does not read `has_rank`.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, StateShape
from graphfix.graph.protocols import ANY
from graphfix.graph.view import Node

ON = ANY
CODE = "GF304"


def plan(node: Node) -> Iterator[Edit]:
    """State the shapes of results whose sizes are known."""
    for at, value in enumerate(node.results):
        if value is not None and value in node.graph.without_rank and value.shape.static:
            yield StateShape(at, CODE)

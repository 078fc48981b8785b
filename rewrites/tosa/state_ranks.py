"""Store the rank of a result for which the file stores no rank (TFLite only; only with target tosa, or by name).

    m[] = REDUCE_MAX(x[2,3], axes)    stored without sizes and without has_rank
    m[] = REDUCE_MAX(x[2,3], axes)    has_rank: true

Converters before 2023 did not write `has_rank`, so a scalar in their files looks like a tensor of unknown rank. The
converter to TOSA then leaves the operators around the scalar unconverted. LiteRT does not read `has_rank`: it computes
the shape of every result.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, StateShape
from graphfix.graph.protocols import ANY
from graphfix.graph.view import Node

ON = ANY
CODE = "GF304"


def plan(node: Node) -> Iterator[Edit]:
    """Yield an edit for each result whose sizes are known and for which the file states no rank."""
    for value in node.results:
        if value is not None and value in node.graph.without_rank and value.shape.static:
            yield StateShape(value, f"the file states no rank for the result {value}", CODE)

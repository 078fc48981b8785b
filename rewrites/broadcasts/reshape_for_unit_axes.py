"""Write an EXPAND_DIMS or SQUEEZE that the model already has as a RESHAPE (TFLite only).

    EXPAND_DIMS(x[2,4], axis=0)   ->  RESHAPE(x[2,4], [1,2,4])
    SQUEEZE(x[N,1,4])             ->  RESHAPE(x[N,1,4], [-1,4])

For targets whose tools read RESHAPE alone. A RESHAPE leaves at most one size open: a node with more free sizes is left,
as a finding (GF304). So is a SQUEEZE of an axis that is not known to have size 1: it fails at any other size, where a
RESHAPE may run.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, New, Replace, vector
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE
from graphfix.shapes.dim import Undecided

ON = frozenset({(TFLITE, "EXPAND_DIMS"), (TFLITE, "SQUEEZE")})
CODE = "GF304"


def plan(node: Node) -> Iterator[Edit]:
    """State the result's sizes, the free one as -1."""
    result = node.results[0] if node.results else None
    if result is None:
        return
    operand, shape = node.operand(0).ranked, result.ranked
    if [size for size in operand.dims if size != 1] != [size for size in shape.dims if size != 1]:
        raise Undecided(f"a RESHAPE does not ask for size 1, and {operand} is not known to have it: bind it (--dim)")
    sizes = tuple(size if isinstance(size, int) else -1 for size in shape.dims)
    if sizes.count(-1) > 1:
        raise Undecided(f"a RESHAPE leaves one size open, and {shape} has more that are free: bind them (--dim)")
    if 0 in sizes:
        raise Undecided(f"a RESHAPE takes a 0 for a size that stays, and {shape} has no elements")
    yield Replace(New("RESHAPE", (0, vector(sizes, "int32")), shape, result.dtype, (("new_shape", sizes),)), CODE)

"""Write an existing EXPAND_DIMS or SQUEEZE as a RESHAPE (TFLite only).

    EXPAND_DIMS(x[2,4], axis=0)   ->  RESHAPE(x[2,4], [1,2,4])
    SQUEEZE(x[N,1,4])             ->  RESHAPE(x[N,1,4], [-1,4])

For targets whose tools support only RESHAPE. A RESHAPE can have one open size at most, so a node with more free sizes
is left as a finding (GF304). A SQUEEZE of an axis whose size may not be 1 is left as a finding, too: it fails at any
other size, but a RESHAPE may run.
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
    """Yield a RESHAPE to the result's sizes, with -1 for a free size. Raises Undecided if that is not possible."""
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

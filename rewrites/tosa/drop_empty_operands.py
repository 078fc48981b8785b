"""Remove operands without elements from a Concat (only with target tosa, or where it is named).

    y[4,8] = CONCATENATION(a[0,8], b[1,8], c[3,8], axis=0)    ->  CONCATENATION(b, c, axis=0)
    y[1,7,1] = Concat(x[1,7,1], e[1,0,1], axis=1)             ->  Identity(x)

TOSA has no size 0. Converters of dynamic models write a Concat with a list that is still empty. An unrolled loop that
writes into a list of values has such operands too. The part in front of the first value is empty, and so is the part
behind the last value. Operators that only computed such an operand are removed too.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, New, Replace
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE

ON = frozenset({("", "Concat"), (TFLITE, "CONCATENATION")})
CODE = "GF304"


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of a Concat if some of its operands have no elements and some may have elements."""
    result, operands = node.results[0], enumerate(node.operands)
    kept = tuple(at for at, value in operands if value is not None and 0 not in (value.shape.axes or ()))
    if result is None or not 0 < len(kept) < len(node.operands):
        return
    if len(kept) == 1 and not node.domain:
        yield Replace(New("Identity", kept, result.shape, result.dtype), CODE)
        return
    attributes = tuple(node.attributes.items())
    yield Replace(New(node.op, kept, result.shape, result.dtype, attributes, version=node.version), CODE)

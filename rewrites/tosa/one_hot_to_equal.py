"""Write a ONE_HOT as a comparison of the index with every class (TFLite only).

    ONE_HOT(i:int32[3], 4, on, off)  ->  SELECT_V2(EQUAL(RESHAPE(i, [3,1]), [[0,1,2,3]]), on, off)

For an index outside the classes, LiteRT returns a row of `off`, but the converter to TOSA writes to another place: it
treats -1 as a class, too. Every bit is the same in LiteRT. The node is not changed if the number of classes is known
only at run time, or the indices are int64.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, Lift, New, Numbers, Replace, reshape
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE
from graphfix.shapes.dim import Shape

ON = frozenset({(TFLITE, "ONE_HOT")})
CODE = "GF304"
INDEX = "int32"
CLASSES, CHOICES = 1, (2, 3)
"""The indices of the operand with the number of classes, and of the operands with the values `on` and `off`."""
MOST = 4096
"""The largest number of classes. Each class is an element of a constant of the new node."""


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of a ONE_HOT by a comparison of each index with the classes."""
    indices, result, class_count = node.operand(0), node.results[0], node.operand(CLASSES).elements
    if result is None or indices.dtype != INDEX or class_count is None or not indices.ranked.static:
        return
    sizes, classes, axis = indices.shape.numbers, int(class_count[0]), node.attributes.get("axis", 0)
    if not 0 < classes <= MOST or 0 in sizes or not isinstance(axis, int):
        return
    place = len(sizes) if axis < 0 else axis
    apart, result_sizes = ((*sizes[:place], size, *sizes[place:]) for size in (1, classes))
    for operand in CHOICES:
        if node.operand(operand).ranked.rank == 0:
            yield Lift(operand, tuple(range(len(result_sizes))), CODE)
    dims = tuple(classes if at == place else 1 for at in range(len(result_sizes)))
    numbers = Numbers(tuple(range(classes)), dims, INDEX)
    equal = New("EQUAL", (reshape(node, 0, apart, INDEX), numbers), Shape(result_sizes), "bool")
    yield Replace(New("SELECT_V2", (equal, *CHOICES), Shape(result_sizes), result.dtype), CODE)

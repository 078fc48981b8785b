"""Write a PRelu as a product with a selected factor (ONNX only; only with target tosa, or where it is named).

    PRelu(x[1,3,8,8], slope[3,1,1])  ->  Mul(x, Where(GreaterOrEqual(x, 0), 1, slope))

torch-mlir converts a PRelu to constants of float64, which no TOSA tool reads. In onnxruntime every bit is the same,
including zeros, infinities and NaN. The factor is selected and not the product. The reason is that a product may be
rounded to negative zero, and onnxruntime's Where turns a negative zero of its second operand into a positive zero. The
slope must certainly fit x, because PRelu never stretches x. Other element types are not changed: for float64,
onnxruntime computes something else, in which some zeros differ.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, New, Numbers, Replace
from graphfix.graph.view import Node
from graphfix.shapes.dim import Shape, Undecided, same

ON = frozenset({("", "PRelu")})
CODE = "GF304"
FLOAT = "float32"
OPSET = 12
"""The first opset that has GreaterOrEqual. Before opset 7, also the slope followed axis 1."""


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of a PRelu of float32. Raises Undecided if the slope may not fit."""
    value, result = node.operand(0), node.results[0]
    if node.version < OPSET or result is None or value.dtype != FLOAT:
        return
    _check_fits(value.ranked, node.operand(1).ranked)
    zero = Numbers((0.0,), (), value.dtype)
    one = Numbers((1.0,), (), value.dtype)
    kept = New("GreaterOrEqual", (0, zero), result.shape, "bool")
    factor = New("Where", (kept, one, 1), result.shape, value.dtype)
    yield Replace(New("Mul", (0, factor), result.shape, value.dtype), CODE)


def _check_fits(shape: Shape, slope: Shape) -> None:
    """Raise Undecided unless the slope certainly stretches to x's shape.

    PRelu never stretches x, but the new nodes would.
    """
    facing = shape.dims[max(shape.rank - slope.rank, 0) :]
    if slope.rank > shape.rank or any(
        size != 1 and not same(size, have) for size, have in zip(slope.dims, facing, strict=True)
    ):
        raise Undecided(f"whether the slope {slope} fits {shape} is known only at run time")

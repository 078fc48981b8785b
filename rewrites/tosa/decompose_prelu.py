"""Write a PRelu as a product with a factor that is chosen (ONNX only; only with target tosa, or where it is named).

    PRelu(x[1,3,8,8], slope[3,1,1])  ->  Mul(x, Where(GreaterOrEqual(x, 0), 1, slope))

torch-mlir makes of a PRelu what no TOSA tool reads: constants of float64. Every bit is the same in onnxruntime, zeros,
infinities and NaN included. The factor is chosen, not the product: onnxruntime's Where makes a negative zero of its
second operand a positive one, and a product may be one where it is rounded to zero. The slope must be certain to fit x,
which PRelu never stretches. Other element types stay: for float64 onnxruntime computes something else, of which not
every zero is the same.
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
"""The first one that has GreaterOrEqual; before opset 7 the slope follows axis 1 besides."""


def plan(node: Node) -> Iterator[Edit]:
    """Replace a PRelu of float32."""
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
    """Raise Undecided unless the slope stretches to x's shape: PRelu never stretches x, the new nodes would."""
    facing = shape.dims[max(shape.rank - slope.rank, 0) :]
    if slope.rank > shape.rank or any(
        size != 1 and not same(size, have) for size, have in zip(slope.dims, facing, strict=True)
    ):
        raise Undecided(f"whether the slope {slope} fits {shape} is known only at run time")

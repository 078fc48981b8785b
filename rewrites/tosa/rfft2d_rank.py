"""Run RFFT2D at rank 3, and compute the part that REAL, IMAG or COMPLEX_ABS reads (TFLite only).

    c = RFFT2D(x[1,511,1,2048], n)          RFFT2D(RESHAPE(x, [511,1,2048]), n)
    y[1,511,1,1025] = CAST(c)           ->  y[1,511,1,1025] = RESHAPE(REAL(..), [1,511,1,1025])
    y[1,511,1,1025] = COMPLEX_ABS(c)    ->  y = RESHAPE(SQRT(REAL(..) * REAL(..) + IMAG(..) * IMAG(..)), ..)

Operators that only change the axes may be between the two nodes. TOSA's operator has three axes: a batch, and the two
axes that are transformed. All leading axes are combined into that batch. A CAST from complex to float returns the real
part, which REAL returns explicitly. The transform works on each plane of the last two axes separately, so every bit is
the same.

TOSA has no COMPLEX_ABS. For it the rewrite is inexact: the root of the squares is rounded in other places than in
LiteRT's kernel, and may differ by 1e-4 of its largest magnitude. If a size is not known, the node is not changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from graphfix.graph.edits import Edit, New, Replace, reshape
from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE
from graphfix.shapes.dim import Shape, Undecided

PARTS = {"CAST": ("REAL",), "REAL": ("REAL",), "IMAG": ("IMAG",), "COMPLEX_ABS": ("REAL", "IMAG")}
"""Operator that reads the complex result -> the parts from which its result is computed."""
ON = frozenset((TFLITE, op) for op in PARTS)
CODE = "GF304"
VIEWS = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
"""Operators that may be between the two nodes, because they return the same elements with other axes."""
INEXACT = "it is rounded in other places than in LiteRT's kernel: it may differ by 1e-4 of its largest magnitude"
RANK = 3
"""The rank of TOSA's operator: a batch, and the two axes that are transformed."""


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of a node that reads the complex result. Raises Undecided if a size is not known."""
    transform, result = _transform(node.operand(0)), node.results[0]
    if transform is None or result is None:
        return
    source, bins = transform.operand(0), transform.results[0]
    if bins is None or (source.ranked.rank == RANK and PARTS[node.op] == (node.op,)):
        return
    if not (source.shape.static and bins.shape.static and result.shape.static):
        raise Undecided(f"the sizes of {source} are not all known")
    flat, part = _batched(source.shape.numbers), _batched(bins.shape.numbers)
    spectrum = New(
        "RFFT2D", (reshape(node, source, flat, result.dtype), transform.operand(1)), Shape(part), "complex64"
    )
    parts = [New(op, (spectrum,), Shape(part), result.dtype) for op in PARTS[node.op]]
    made = parts[0] if len(parts) == 1 else _length(parts, Shape(part), result.dtype)
    inexact = None if len(parts) == 1 else INEXACT
    result_value = made if part == result.shape.numbers else reshape(node, made, result.shape.numbers, result.dtype)
    yield Replace(result_value, CODE, inexact)


def _length(parts: list[New], shape: Shape, dtype: str) -> New:
    """Return the square root of the sum of the squares of both parts."""
    squares = [New("MUL", (part, part), shape, dtype) for part in parts]
    return New("SQRT", (New("ADD", (squares[0], squares[1]), shape, dtype),), shape, dtype)


def _transform(value: Value) -> Node | None:
    """Return the RFFT2D that computes this value, directly or before operators that only change its axes; else None."""
    node = value.producer
    while node is not None and node.op in VIEWS:
        node = node.operand(0).producer
    return node if node is not None and node.op == "RFFT2D" else None


def _batched(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes with all leading axes combined: [2,511,1,2048] -> [1022,1,2048]; [1,2048] -> [1,1,2048]."""
    return (prod(sizes[:-2]), *sizes[-2:])

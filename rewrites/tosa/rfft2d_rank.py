"""Run RFFT2D at rank 3, and take the part of its result that is read by REAL, IMAG or COMPLEX_ABS (TFLite only).

    c = RFFT2D(x[1,511,1,2048], n)          RFFT2D(RESHAPE(x, [511,1,2048]), n)
    y[1,511,1,1025] = CAST(c)           ->  y[1,511,1,1025] = RESHAPE(REAL(..), [1,511,1,1025])
    y[1,511,1,1025] = COMPLEX_ABS(c)    ->  y = RESHAPE(SQRT(REAL(..) * REAL(..) + IMAG(..) * IMAG(..)), ..)

Operators that only change the axes may stand between the two. TOSA's operator has three axes, a batch and the two that
are transformed; the axes in front are one batch together. A CAST from complex to float takes the real part, which REAL
says by name. The transform works on each of the last two axes' planes alone, so every bit is the same. For a
COMPLEX_ABS, which TOSA has not, this is inexact: the root of the squares is rounded in other places than in LiteRT's
kernel, and may differ by 1e-4 of its largest magnitude. Where the sizes are not all known the node is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from graphfix.graph.edits import Edit, New, Replace, reshape
from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE
from graphfix.shapes.dim import Shape, Undecided

PARTS = {"CAST": ("REAL",), "REAL": ("REAL",), "IMAG": ("IMAG",), "COMPLEX_ABS": ("REAL", "IMAG")}
"""What reads the complex result, and of which parts it is made."""
ON = frozenset((TFLITE, op) for op in PARTS)
CODE = "GF304"
VIEWS = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
"""What may stand between: the same elements with other axes."""
INEXACT = "it is rounded in other places than in LiteRT's kernel: it may differ by 1e-4 of its largest magnitude"
RANK = 3
"""A batch, and the two axes that are transformed."""


def plan(node: Node) -> Iterator[Edit]:
    """Put RESHAPE, RFFT2D, REAL and RESHAPE in the place of the node that reads the complex result."""
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
    """The root of the sum of the squares."""
    squares = [New("MUL", (part, part), shape, dtype) for part in parts]
    return New("SQRT", (New("ADD", (squares[0], squares[1]), shape, dtype),), shape, dtype)


def _transform(value: Value) -> Node | None:
    """The RFFT2D whose result this is, as it is or behind operators that only change its axes."""
    node = value.producer
    while node is not None and node.op in VIEWS:
        node = node.operand(0).producer
    return node if node is not None and node.op == "RFFT2D" else None


def _batched(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """[2,511,1,2048] -> [1022,1,2048]; [1,2048] -> [1,1,2048]."""
    return (prod(sizes[:-2]), *sizes[-2:])

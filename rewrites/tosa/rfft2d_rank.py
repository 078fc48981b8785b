"""Run RFFT2D at rank 3, and take the part of its result that is read by REAL or IMAG (TFLite only).

    c = RFFT2D(x[1,511,1,2048], n)          RFFT2D(RESHAPE(x, [511,1,2048]), n)
    y[1,511,1,1025] = CAST(c)           ->  y[1,511,1,1025] = RESHAPE(REAL(..), [1,511,1,1025])

Operators that only change the axes may stand between the two. TOSA's operator has three axes, a batch and the two that
are transformed; the axes in front are one batch together. A CAST from complex to float takes the real part, which REAL
says by name. The transform works on each of the last two axes' planes alone, so every bit is the same. Where the sizes
are not all known the node is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from graphfix.graph.edits import Edit, New, Replace, reshape
from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE
from graphfix.shapes.shape import Shape, Undecided

PARTS = {"CAST": "REAL", "REAL": "REAL", "IMAG": "IMAG"}
"""What reads the complex result, and what says the same by name."""
ON = frozenset((TFLITE, op) for op in PARTS)
CODE = "GF304"
VIEWS = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
"""What may stand between: the same elements with other axes."""
RANK = 3
"""A batch, and the two axes that are transformed."""


def plan(node: Node) -> Iterator[Edit]:
    """Put RESHAPE, RFFT2D, REAL and RESHAPE in the place of the node that reads the complex result."""
    transform, result = _transform(node.operand(0)), node.results[0]
    if transform is None or result is None:
        return
    source, bins = transform.operand(0), transform.results[0]
    if bins is None or (source.ranked.rank == RANK and node.op == PARTS[node.op]):
        return
    if not (source.shape.static and bins.shape.static and result.shape.static):
        raise Undecided(f"the sizes of {source} are not all known")
    flat, part = _batched(source.shape.numbers), _batched(bins.shape.numbers)
    spectrum = New(
        "RFFT2D", (reshape(node, source, flat, result.dtype), transform.operand(1)), Shape(part), "complex64"
    )
    real = New(PARTS[node.op], (spectrum,), Shape(part), result.dtype)
    yield Replace(reshape(node, real, result.shape.numbers, result.dtype), CODE)


def _transform(value: Value) -> Node | None:
    """The RFFT2D whose result this is, as it is or behind operators that only change its axes."""
    node = value.producer
    while node is not None and node.op in VIEWS:
        node = node.operand(0).producer
    return node if node is not None and node.op == "RFFT2D" else None


def _batched(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """[2,511,1,2048] -> [1022,1,2048]; [1,2048] -> [1,1,2048]."""
    return (prod(sizes[:-2]), *sizes[-2:])

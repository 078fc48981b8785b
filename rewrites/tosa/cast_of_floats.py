"""Write a CAST between floats and integers or booleans so that TOSA 1.0 returns the same numbers (TFLite only).

    y:int32[2,3] = CAST(x[2,3])         ->  CAST(SELECT_V2(x >= 0, f, NEG(f))), f = FLOOR(ABS(x))
    y:bool[2,3] = CAST(x[2,3])          ->  NOT_EQUAL(x, 0)
    y[2,3] = CAST(x:bool[2,3])          ->  SELECT_V2(x, 1, 0)

LiteRT truncates the fraction, but tosa.cast rounds to the nearest number: -1.5 becomes -2, not -1. Casts between floats
and booleans exist only from TOSA 1.1 on. In LiteRT every bit is the same (CEIL is not used, because its reference
kernels have none). NaN is an exception: LiteRT converts it to the largest integer, and TOSA to another number.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, New, Numbers, Replace, scalar
from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE
from graphfix.shapes.dim import Shape

ON = frozenset({(TFLITE, "CAST")})
CODE = "GF304"
FLOAT, BOOL = "float32", "bool"
WHOLE = frozenset({"int8", "int16", "int32"})
ROUNDING = frozenset({"FLOOR", "CEIL", "ROUND"})
"""Operators whose results are integers, as floats."""
PASSING = {"SELECT_V2": (1, 2), "NEG": (0,)}
"""Operator -> the operands that must be integers, as floats, so that its result is integers, too."""


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of a CAST from or to floats, unless the floats are already integers."""
    data, result = node.operand(0), node.results[0]
    if result is None:
        return
    shape = data.ranked
    match data.dtype, result.dtype:
        case "float32", "bool":
            yield Replace(New("NOT_EQUAL", (0, _float(0, shape)), shape, BOOL), CODE)
        case "bool", "float32":
            yield Replace(New("SELECT_V2", (0, _float(1, shape), _float(0, shape)), shape, FLOAT), CODE)
        case "float32", dtype if dtype in WHOLE and not _whole(data):
            positive = New("GREATER_EQUAL", (0, _float(0, shape)), shape, BOOL)
            floor = New("FLOOR", (New("ABS", (0,), shape, FLOAT),), shape, FLOAT)
            cut = New("SELECT_V2", (positive, floor, New("NEG", (floor,), shape, FLOAT)), shape, FLOAT)
            yield Replace(New("CAST", (cut,), shape, dtype, tuple(node.attributes.items()), version=node.version), CODE)


def _whole(value: Value) -> bool:
    """Return whether the floats are integers because an operator before them rounds."""
    node = value.producer
    if node is not None and node.op in PASSING:
        return all(_whole(node.operand(at)) for at in PASSING[node.op])
    return node is not None and node.op in ROUNDING


def _float(number: float, shape: Shape) -> Numbers:
    """Return a float32 constant that broadcasts to this shape."""
    return scalar(float(number), shape, FLOAT)

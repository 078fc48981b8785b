"""Write a CAST between floats and whole numbers or truth values as TOSA 1.0 casts, which rounds (TFLite only).

    y:int32[2,3] = CAST(x[2,3])         ->  CAST(SELECT_V2(x >= 0, f, NEG(f))), f = FLOOR(ABS(x))
    y:bool[2,3] = CAST(x[2,3])          ->  NOT_EQUAL(x, 0)
    y[2,3] = CAST(x:bool[2,3])          ->  SELECT_V2(x, 1, 0)

LiteRT cuts the fraction off, tosa.cast rounds to the nearest number: -1.5 becomes -2, not -1. Between floats and truth
values only TOSA 1.1 casts. Every bit is the same in LiteRT (whose reference kernels have no CEIL); NaN, which it makes
the greatest whole number, is another one in TOSA.
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
"""What makes whole floats."""
PASSING = {"SELECT_V2": (1, 2), "NEG": (0,)}
"""What makes whole floats of whole floats, and which operands these are."""


def plan(node: Node) -> Iterator[Edit]:
    """Replace a CAST from or to floats, unless there is nothing to cut off."""
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
    """Whether the floats are whole numbers, as far as the operators before say."""
    node = value.producer
    if node is not None and node.op in PASSING:
        return all(_whole(node.operand(at)) for at in PASSING[node.op])
    return node is not None and node.op in ROUNDING


def _float(number: float, shape: Shape) -> Numbers:
    return scalar(float(number), shape, FLOAT)

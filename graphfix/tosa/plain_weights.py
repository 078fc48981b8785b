"""Dequantize int8 weights that are multiplied with floats, so that LiteRT computes as the converted model does.

    y[2,8] = FULLY_CONNECTED(x[2,4], w:int8[8,4]:const)  ->  FULLY_CONNECTED(x[2,4], DEQUANTIZE(w))

LiteRT's kernels for such weights round each input to int8 on the way. That costs up to a few hundredths of the range of
the results. The converter to TOSA multiplies the floats without rounding. So the converted model is compared with the
original whose weights are dequantized.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from graphfix import formats
from graphfix.api import pipeline
from graphfix.engine.request import Request
from graphfix.graph.edits import Edit, New, Replace
from graphfix.graph.protocols import rewrite
from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE

DATA = {"FULLY_CONNECTED": 0, "CONV_2D": 0, "DEPTHWISE_CONV_2D": 0, "BATCH_MATMUL": 0, "TRANSPOSE_CONV": 2}
"""Operator -> the index of the operand that contains the floats."""
ON = frozenset((TFLITE, op) for op in DATA)
CODE = "GF305"
WHOLE = frozenset({"int8", "uint8"})


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of an operator on floats, with its int8 or uint8 weights dequantized."""
    data, result = node.operand(DATA[node.op]), node.results[0]
    weights = [at for at, value in enumerate(node.operands) if value is not None and _is_weight(value)]
    if result is None or data.dtype != "float32" or not weights:
        return
    read = tuple(
        New("DEQUANTIZE", (at,), value.shape, "float32", version=2) if at in weights else at
        for at, value in enumerate(node.operands)
        if value is not None
    )
    made = New(node.op, read, result.shape, "float32", tuple(node.attributes.items()), version=node.version)
    yield Replace(made, CODE)


def _is_weight(value: Value) -> bool:
    """Return whether a value is a constant of int8 or uint8."""
    return value.kind == "constant" and value.dtype in WHOLE


def dequantized(source: Path, output: Path) -> bool:
    """Write a TFLite file with such weights dequantized, and return whether there were any. Raises GraphfixError.

    Without such weights, no file is written.
    """
    model = formats.load(source)
    done = pipeline.fix(model, Request(), [rewrite(sys.modules[__name__])])
    if done.changed:
        model.save(output)
    return done.changed

"""Find float inputs that a TFLite model quantizes first, and float outputs that it dequantizes last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphfix.checker.files.tflite.graphs import Graph

_MOVERS = frozenset("RESHAPE EXPAND_DIMS SQUEEZE TRANSPOSE SLICE STRIDED_SLICE GATHER".split())
"""Operators whose result contains only elements of operand 0."""


def input_ranges(graph: Graph, names: Mapping[int, str]) -> dict[str, tuple[float, float]]:
    """Return, for each float input that is quantized, the lowest and the highest value of its quantized type.

    `names` maps an input tensor to its name.
    """
    return {
        names[op.inputs[0]]: (graph.levels[op.outputs[0]].low, graph.levels[op.outputs[0]].high)
        for op in graph.ops
        if op.name == "QUANTIZE" and op.inputs[0] in names and op.outputs[0] in graph.levels
    }


def output_steps(graph: Graph) -> tuple[float | None, ...]:
    """Return the distance between adjacent values of each output; None for an output that was not quantized.

    The distance is 1 for quantized integers, and the scale for dequantized floats.
    """
    return tuple(_step(graph, tensor) for tensor in graph.outputs)


def _step(graph: Graph, tensor: int) -> float | None:
    """Return the distance between adjacent values of one output; None if the output was not quantized."""
    if tensor in graph.levels:
        return 1.0
    while tensor in graph.makers:
        op = graph.ops[graph.makers[tensor]]
        if op.name == "DEQUANTIZE":
            found = graph.levels.get(op.inputs[0])
            return None if found is None else found.step
        if op.name not in _MOVERS:
            return None
        tensor = op.inputs[0]
    return None

"""Floats at the ends of a TFLite model that are quantized numbers: inputs to be quantized, outputs dequantized."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphfix.checker.files.tflite.graphs import Graph

_MOVERS = frozenset("RESHAPE EXPAND_DIMS SQUEEZE TRANSPOSE SLICE STRIDED_SLICE GATHER".split())
"""Operators whose result holds elements of their first operand and nothing else."""


def input_ranges(graph: Graph, names: Mapping[int, str]) -> dict[str, tuple[float, float]]:
    """Return the lowest and the highest value that each float input is quantized to; `names`: input tensor -> name."""
    return {
        names[op.inputs[0]]: (graph.levels[op.outputs[0]].low, graph.levels[op.outputs[0]].high)
        for op in graph.ops
        if op.name == "QUANTIZE" and op.inputs[0] in names and op.outputs[0] in graph.levels
    }


def output_steps(graph: Graph) -> tuple[float | None, ...]:
    """Return how far neighbouring values of each output are apart, None for one that was not quantized.

    Of whole numbers that is 1, of dequantized floats their scale.
    """
    return tuple(_step(graph, tensor) for tensor in graph.outputs)


def _step(graph: Graph, tensor: int) -> float | None:
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

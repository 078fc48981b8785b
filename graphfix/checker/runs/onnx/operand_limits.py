"""The valid values of operands that are indices, lengths or shapes, for each operator.

Source: the ONNX operator specification, and onnxruntime's contrib operators.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from graphfix.checker.files.onnx.graphs import NestedGraph, constant, integer_attribute
from graphfix.checker.runs.inputs.input_limits import Interval, below, shortest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import onnx

    Rule = Callable[[onnx.NodeProto, NestedGraph], Iterator[tuple[str, Interval]]]
    """Returns (operand, interval) for the operands of a node whose values must be in an interval."""

# Scalars and shapes that control the amount of computation: small, so that a run is short, and mostly not 0.
_STEERING: dict[str, dict[int, Interval]] = {
    "Loop": {0: (1, 4)},
    "Range": {0: (0, 1), 1: (2, 6), 2: (1, 2)},
    "ConstantOfShape": {0: (1, 4)},
    "Expand": {1: (1, 1)},
    "Tile": {1: (1, 2)},
    "Pad": {1: (0, 1)},
    "Resize": {2: (1, 2), 3: (1, 8)},
    "Upsample": {1: (1, 2)},
    "Slice": {1: (0, 0), 2: (1, 8), 4: (1, 1)},
    "Div": {1: (1, 10)},
    "Mod": {1: (1, 10)},
    "BitShift": {1: (0, 3)},
    "Pow": {1: (0, 3)},
    "CumSum": {1: (0, 0)},
    "SequenceAt": {1: (0, 0)},
    "SequenceErase": {1: (0, 0)},
    "Trilu": {1: (-1, 1)},
    "OneHot": {1: (2, 10)},
}
_RECURRENT_LENGTHS = 4


def demands(node: onnx.NodeProto, graph: NestedGraph) -> Iterator[tuple[str, Interval]]:
    """Yield (operand, interval) for every operand of a node whose values must be in an interval."""
    for place, interval in _STEERING.get(node.op_type, {}).items():
        if place < len(node.input) and node.input[place]:
            yield node.input[place], interval
    rule = _RULES.get(node.op_type)
    if rule is not None:
        yield from ((name, interval) for name, interval in rule(node, graph) if name)


def _along_axis(node: onnx.NodeProto, graph: NestedGraph, default: int = 0) -> Iterator[tuple[str, Interval]]:
    """Return the limit of Gather and similar operators: operand 1 indexes the axis `axis` of operand 0."""
    yield node.input[1], below(_dim(graph, node.input[0], integer_attribute(node, "axis", default)))


def _gather_nd(node: onnx.NodeProto, graph: NestedGraph) -> Iterator[tuple[str, Interval]]:
    """Return the limit of GatherND and ScatterND: operand 1 contains coordinates, and the smallest axis limits all."""
    data, indices = graph.shape(node.input[0]), graph.shape(node.input[1])
    first = integer_attribute(node, "batch_dims", 0)
    last = None if not indices or indices[-1] is None else first + indices[-1]
    yield node.input[1], below(shortest(() if data is None else data[first:last]))


def _one_hot(node: onnx.NodeProto, graph: NestedGraph) -> Iterator[tuple[str, Interval]]:
    """Return the limit of OneHot: indices are below the depth (operand 1), or below 2 if it is not constant."""
    depth = constant(graph, node.input[1])
    yield node.input[0], below(int(depth.reshape(-1)[0]) if depth is not None and depth.size else 2)


def _lengths(node: onnx.NodeProto, graph: NestedGraph) -> Iterator[tuple[str, Interval]]:
    """Return the limit of LSTM, GRU and RNN: operand 4 contains numbers of time steps.

    The time steps are axis 0 of operand 0, or axis 1 if the attribute `layout` is 1.
    """
    if len(node.input) > _RECURRENT_LENGTHS:
        steps = _dim(graph, node.input[0], 1 if integer_attribute(node, "layout", 0) else 0)
        yield node.input[_RECURRENT_LENGTHS], (1, max(1, steps or 1))


def _reverse_sequence(node: onnx.NodeProto, graph: NestedGraph) -> Iterator[tuple[str, Interval]]:
    """Return the limit of ReverseSequence: the lengths are between 1 and the size of the time axis."""
    steps = _dim(graph, node.input[0], integer_attribute(node, "time_axis", 0))
    yield node.input[1], (1, max(1, steps or 1))


def _top_k(node: onnx.NodeProto, graph: NestedGraph) -> Iterator[tuple[str, Interval]]:
    """Return the limit of TopK: the number of elements is between 1 and the size of the axis."""
    if len(node.input) > 1:
        size = _dim(graph, node.input[0], integer_attribute(node, "axis", -1))
        yield node.input[1], (1, max(1, size or 1))


def _index(place: int, data: int, axis: int) -> Rule:
    """Return the rule of an operator whose operand `place` indexes axis `axis` of operand `data`."""
    return lambda node, graph: iter([(node.input[place], below(_dim(graph, node.input[data], axis)))])


def _positions(node: onnx.NodeProto, graph: NestedGraph) -> Iterator[tuple[str, Interval]]:
    """Return the limit of RotaryEmbedding's positions, which index the rows of a table.

    The positions are operand 3 in onnx, after the tables, and operand 1 in com.microsoft, before the tables.
    """
    if node.domain == "com.microsoft":
        yield node.input[1], below(_dim(graph, node.input[2], 0))
    elif len(node.input) > 3:  # noqa: PLR2004 - X, cos_cache, sin_cache, position_ids
        yield node.input[3], below(_dim(graph, node.input[1], 0))


def _embeddings(node: onnx.NodeProto, graph: NestedGraph) -> Iterator[tuple[str, Interval]]:
    """Return the limits of EmbedLayerNormalization: operands 0, 1 and 8 index the tables 2, 4 and 3.

    The indices are ids of words, segments and positions.
    """
    for place, table in ((0, 2), (1, 4), (8, 3)):
        if max(place, table) < len(node.input) and node.input[table]:
            yield node.input[place], below(_dim(graph, node.input[table], 0))


_RULES: dict[str, Rule] = {
    **dict.fromkeys(("Gather", "GatherElements", "Scatter", "ScatterElements", "GatherBlockQuantized"), _along_axis),
    **dict.fromkeys(("GatherND", "ScatterND"), _gather_nd),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _lengths),
    **dict.fromkeys(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), _index(1, 0, 1)),
    "ArrayFeatureExtractor": partial(_along_axis, default=-1),
    "OneHot": _one_hot,
    "ReverseSequence": _reverse_sequence,
    "TopK": _top_k,
    "RoiAlign": _index(2, 0, 0),
    "RotaryEmbedding": _positions,
    "EmbedLayerNormalization": _embeddings,
}


def _dim(graph: NestedGraph, name: str, axis: int) -> int | None:
    """Return the size of an axis of a value; None if unknown or out of range."""
    shape = graph.shape(name)
    return shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None

"""Find the limits of integer inputs of a TFLite model that are indices or control sizes, for seeded values.

Source: the kernels of LiteRT. Most kernels refuse an index out of range, but some read past the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphfix.checker.runs.inputs.input_limits import (
    MOST_STEPS,
    ROUNDING,
    Interval,
    Limits,
    before_rounding,
    below,
    meet,
    of_branches,
    shortest,
    solved,
    solved_mod,
    solved_unary,
)
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from graphfix.checker.files.tflite.graphs import Graph, Op

_CHOICES = ("SELECT", "SELECT_V2")
# Operators whose result contains only elements of these operands (None: of all operands).
_CARRIERS: dict[str, tuple[int, ...] | None] = {
    **dict.fromkeys(
        "RESHAPE EXPAND_DIMS SQUEEZE TRANSPOSE SLICE STRIDED_SLICE TILE BROADCAST_TO GATHER GATHER_ND UNPACK "
        "REVERSE_V2 REVERSE_SEQUENCE PAD REDUCE_MAX REDUCE_MIN BITCAST".split(),
        (0,),
    ),
    **dict.fromkeys("PACK CONCATENATION MAXIMUM MINIMUM".split(), None),
    "SPLIT": (1,),
    **dict.fromkeys(_CHOICES, (1, 2)),
}
# Scalars and shapes that control the amount of computation: small, so that a run is short, and mostly not 0.
_STEERING: dict[str, dict[int, Interval]] = {
    "FILL": {0: (1, 4)},
    "RANGE": {0: (0, 1), 1: (2, 6), 2: (1, 2)},
    "TILE": {1: (1, 2)},
    "BROADCAST_TO": {1: (1, 1)},
    "EXPAND_DIMS": {1: (0, 0)},
    "PAD": {1: (0, 1)},
    "PADV2": {1: (0, 1)},
    "MIRROR_PAD": {1: (0, 0)},
    "RESIZE_BILINEAR": {1: (1, 8)},
    "RESIZE_NEAREST_NEIGHBOR": {1: (1, 8)},
    "SLICE": {1: (0, 0), 2: (1, 1)},
    "STRIDED_SLICE": {1: (0, 0), 2: (1, 1), 3: (1, 1)},
    "SPLIT": {0: (0, 0)},
    "TOPK_V2": {1: (1, 1)},
    "CUMSUM": {1: (0, 0)},
    "ARG_MAX": {1: (0, 0)},
    "ARG_MIN": {1: (0, 0)},
    "REVERSE_SEQUENCE": {1: (1, 1)},
    "SEGMENT_SUM": {1: (0, 0)},
    **{f"UNSORTED_SEGMENT_{kind}": {1: (0, 1), 2: (2, 4)} for kind in ("SUM", "PROD", "MAX", "MIN")},
    "DYNAMIC_UPDATE_SLICE": {2: (0, 1)},
    "DIV": {1: (1, 10)},
    "FLOOR_DIV": {1: (1, 10)},
    "FLOOR_MOD": {1: (1, 10)},
    "POW": {1: (0, 3)},
    "RIGHT_SHIFT": {1: (0, 3)},
    "STABLEHLO_SHIFT_LEFT": {1: (0, 3)},
}
_WHOLE_ONLY = frozenset({"DIV", "FLOOR_DIV", "FLOOR_MOD", "POW"})
"""Operators that restrict integers only: they fail for a divisor of 0 or a negative exponent."""
_ARITHMETIC = {"ADD": "Add", "SUB": "Sub", "MUL": "Mul", "FLOOR_DIV": "Div", "DIV": "Div"}
_UNARY = {
    "CAST": "Cast",
    "FLOOR": "Floor",
    "CEIL": "Ceil",
    "ROUND": "Round",
    "NEG": "Neg",
    "ABS": "Abs",
    "RELU": "Relu",
}


def limits(
    graphs: Sequence[Graph],
    subgraph: int,
    names: Mapping[int, str],
    shapes: Mapping[str, tuple[int, ...]],
    *,
    fractional: Collection[str] = (),
) -> Limits:
    """Return the limits of the inputs of a subgraph.

    `names` maps an input tensor to its name, and `shapes` a name to the shape that is fed. If the size of an indexed
    axis is unknown, the only valid index is 0. `fractional` contains the names of float inputs, to which the limits of
    the operators in `_WHOLE_ONLY` do not apply.
    """
    search = _Search(graphs, subgraph, {index: shapes[name] for index, name in names.items() if name in shapes})
    intervals: dict[str, Interval] = {}
    for where, graph in enumerate(graphs):
        for op in graph.ops:
            exempt = fractional if op.name in _WHOLE_ONLY else ()
            for tensor, interval in _demands(search, where, op):
                for index, reached in search.origins(where, tensor, interval):
                    if index in names and names[index] not in exempt:
                        intervals[names[index]] = meet(intervals.get(names[index]), reached)
    return Limits(intervals, given=dict(_given(search, subgraph, names)))


def _given(search: _Search, subgraph: int, names: Mapping[int, str]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield (input, elements) for inputs that are the output shape of a TRANSPOSE_CONV, computed from data and kernel.

    Few other shapes would be valid.
    """
    for op in search.graphs[subgraph].ops:
        if op.name != "TRANSPOSE_CONV" or op.inputs[0] not in names:
            continue
        kernel, data = (search.shape(subgraph, tensor) for tensor in op.inputs[1:3])
        if None in kernel or None in data or (len(kernel), len(data)) != (4, 4):
            continue
        sizes = [size for size in (*data, *kernel) if size is not None]
        rows, columns = (
            size * stride if op.padded else (size - 1) * stride + window
            for size, stride, window in zip(sizes[1:3], op.strides, sizes[5:7], strict=True)
        )
        yield names[op.inputs[0]], (sizes[0], rows, columns, sizes[4])


@dataclass(frozen=True, slots=True)
class _Search:
    """Traces tensors back to the inputs of one subgraph. `fed` contains the shapes of the inputs that are fed."""

    graphs: Sequence[Graph]
    subgraph: int
    fed: Mapping[int, tuple[int, ...]]
    callers: dict[int, list[tuple[int, Op]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for where, graph in enumerate(self.graphs):
            for op in graph.ops:
                for body in op.bodies:
                    self.callers.setdefault(body, []).append((where, op))

    def shape(self, where: int, tensor: int) -> tuple[int | None, ...]:
        """Return the sizes of a tensor of subgraph `where`; None for an unknown size."""
        fed = self.fed.get(tensor) if where == self.subgraph else None
        return self.graphs[where].shapes[tensor] if fed is None else fed

    def origins(self, where: int, tensor: int, interval: Interval, steps: int = 0) -> Iterator[tuple[int, Interval]]:
        """Yield (input tensor, interval) for the inputs from which a tensor's values are computed.

        `interval` contains the valid values of `tensor`. It is converted to an interval of the input, operator by
        operator.
        """
        graph = self.graphs[where]
        if steps > MOST_STEPS or tensor < 0:
            return
        if tensor in graph.inputs:
            if where == self.subgraph:
                yield tensor, interval
            for caller, op in self.callers.get(where, ()):
                # operand 0 of an IF is the condition
                operands = op.inputs[1:] if op.name == "IF" else op.inputs
                yield from self.origins(caller, operands[graph.inputs.index(tensor)], interval, steps + 1)
        elif tensor in graph.makers:
            op = graph.ops[graph.makers[tensor]]
            sources = _sources(graph, op, interval)
            found = (
                origin for operand, reached in sources for origin in self.origins(where, operand, reached, steps + 1)
            )
            yield from of_branches(found) if op.name in _CHOICES else found


def _sources(graph: Graph, op: Op, interval: Interval) -> Iterator[tuple[int, Interval]]:
    """Yield (operand, interval) for the operands from which the elements of an operator's result are computed."""
    if op.name in _CARRIERS:
        places = _CARRIERS[op.name]
        yield from ((tensor, interval) for at, tensor in enumerate(op.inputs) if places is None or at in places)
    elif op.name in _UNARY:
        kind = _UNARY[op.name]
        reached = before_rounding(kind, interval) if kind in ROUNDING else solved_unary(kind, interval)
        yield from ((tensor, reached) for tensor in op.inputs[:1] if reached is not None)
    elif op.name in _ARITHMETIC or op.name == "FLOOR_MOD":
        yield from _arithmetic(graph, op, interval)


def _arithmetic(graph: Graph, op: Op, interval: Interval) -> Iterator[tuple[int, Interval]]:
    """Yield (operand, interval) for each operand whose other operand is a constant."""
    for at, tensor in enumerate(op.inputs):
        constant = graph.constants.get(op.inputs[1 - at])
        if constant is None or constant.dtype.kind not in "iuf":
            continue
        if op.name == "FLOOR_MOD":
            reached = solved_mod(interval, constant) if not at else None
        else:
            reached = solved(_ARITHMETIC[op.name], interval, constant, reverse=at == 1)
        if reached is not None:
            yield tensor, reached


def _demands(search: _Search, where: int, op: Op) -> Iterator[tuple[int, Interval]]:
    """Yield (tensor, interval) for every operand of an operator whose values must be in an interval."""
    for place, interval in _STEERING.get(op.name, {}).items():
        if place < len(op.inputs):
            yield op.inputs[place], interval
    yield from _indices(search, where, op)


def _indices(search: _Search, where: int, op: Op) -> Iterator[tuple[int, Interval]]:
    """Yield (tensor, interval) for the operands that are indices, for the sizes that they index."""
    sizes = [search.shape(where, tensor) if tensor >= 0 else () for tensor in op.inputs]
    constants = search.graphs[where].constants
    match op.name:
        case "GATHER":
            yield op.inputs[1], below(_dim(sizes[0], op.axis))
        case "GATHER_ND":
            yield op.inputs[1], below(shortest(sizes[0][: (sizes[1] or (None,))[-1]]))
        case "EMBEDDING_LOOKUP":
            yield op.inputs[0], below(_dim(sizes[1], 0))
        case "HASHTABLE_LOOKUP" | "EMBEDDING_LOOKUP_SPARSE":
            yield op.inputs[0], below(_dim(sizes[-1], 0))
        case "ONE_HOT":
            depth = constants.get(op.inputs[1])
            yield op.inputs[0], below(2 if depth is None or not depth.size else int(depth.reshape(-1)[0]))
        case "SCATTER_ND":
            shape = constants.get(op.inputs[2])
            yield op.inputs[0], below(1 if shape is None or not shape.size else int(np.min(shape)))


def _dim(shape: tuple[int | None, ...], axis: int) -> int | None:
    """Return the size of an axis; None if unknown or out of range."""
    return shape[axis] if -len(shape) <= axis < len(shape) else None

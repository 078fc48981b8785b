"""Find the limits of integer inputs that are indices or control sizes, so that a model accepts seeded values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from graphfix.checker.files.onnx.graphs import NestedGraph, constant, nested_graphs
from graphfix.checker.runs.inputs.input_limits import (
    MOST_STEPS,
    ROUNDING,
    Interval,
    Limits,
    before_rounding,
    meet,
    of_branches,
    solved,
    solved_mod,
    solved_unary,
)
from graphfix.checker.runs.onnx.attention_sizes import attention_limits
from graphfix.checker.runs.onnx.operand_limits import demands
from graphfix.results.onnx_messages import ModelProto, TensorProto
from graphfix.runtimes.onnx.shape_inference import InferenceError, infer_shapes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import onnx


# Operators whose result contains only elements of these operands (None: of all operands), or numbers between them.
_CARRIERS: dict[str, tuple[int, ...] | None] = {
    **dict.fromkeys(
        ("Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Transpose", "Expand", "Tile"),
        (0,),
    ),
    **dict.fromkeys(("Slice", "Split", "Gather", "GatherND", "GatherElements", "Clip", "Pad", "Compress"), (0,)),
    **dict.fromkeys(("Concat", "Max", "Min"), None),
    "Where": (1, 2),
    "ReduceMax": (0,),
    "ReduceMean": (0,),
    "Mean": None,
    "ReduceMin": (0,),
}
# Operators that restrict integers only: they fail for a divisor of 0 or a negative exponent.
_WHOLE_ONLY = frozenset({"Div", "Mod", "Pow"})
_FRACTIONAL = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16})


def limits(model: ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> Limits:
    """Return the limits of the inputs of a model (without its weights), for these shapes of its inputs.

    If the size of an indexed axis is unknown, the only valid index is 0.
    """
    flat = _inlined(model)
    found = _collected(flat)
    # inference costs time, so it runs only if some input has a limit
    return _collected(_inferred(flat, shapes)) if found.intervals else found


def _collected(model: ModelProto) -> Limits:
    """Return the limits that the operators of a model require of its inputs, from the stored or inferred shapes."""
    intervals: dict[str, Interval] = {}
    compared: dict[str, set[float]] = {}
    fractional = {v.name for v in model.graph.input if v.type.tensor_type.elem_type in _FRACTIONAL}
    graphs = list(nested_graphs(model.graph))
    demanded = [(graphs[0], "", *each) for each in attention_limits(model)]
    demanded += [
        (graph, node.op_type, *each) for graph in graphs for node in graph.proto.node for each in demands(node, graph)
    ]
    for graph, op, operand, interval in demanded:
        for name, reached in _origins(graph, operand, interval):
            if op not in _WHOLE_ONLY or name not in fractional:
                intervals[name] = meet(intervals.get(name), reached)
    for graph in graphs:
        for node in graph.proto.node:
            for name, value in _comparisons(node, graph):
                compared.setdefault(name, set()).add(value)
    return Limits(intervals, {name: tuple(sorted(values, reverse=True)) for name, values in compared.items()})


def _inlined(model: ModelProto) -> ModelProto:
    """Return the model with its functions inlined; unchanged if onnx can't inline them."""
    if not model.functions:
        return model
    from onnx import checker, inliner  # imported here because few models need it, and the import costs 0.05 s

    try:
        return inliner.inline_local_functions(model)
    except (checker.ValidationError, RuntimeError, ValueError):
        return model  # the limits then ignore the nodes inside functions


def _inferred(model: ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> ModelProto:
    """Return the model with the shapes of its inputs set and shapes inferred by onnx.

    A wrongly inferred size results in a wrong limit, which can only make the model refuse a run.
    """
    bound = ModelProto()
    bound.CopyFrom(model)
    for value in bound.graph.input:
        if value.name in shapes and value.type.HasField("tensor_type"):
            del value.type.tensor_type.shape.dim[:]
            for size in shapes[value.name]:
                value.type.tensor_type.shape.dim.add().dim_value = size
    try:
        return infer_shapes(bound, data_prop=True)
    except InferenceError:
        return bound  # use the stored shapes and the constants only


def _comparisons(node: onnx.NodeProto, graph: NestedGraph) -> Iterator[tuple[str, float]]:
    """Yield (input, constant) for an Equal of an input and a constant, such as a sampling rate or a mode."""
    if node.op_type != "Equal" or len(node.input) != 2:  # noqa: PLR2004 - Equal has two operands
        return
    for one, other in (node.input, reversed(node.input)):
        value = constant(graph, other)
        if value is None or value.dtype.kind not in "iuf":
            continue
        for name, interval in _origins(graph, one, (0, 0)):
            offset = interval[0]  # x + c == v -> x == v - c
            yield from ((name, float(v) + offset) for v in value.reshape(-1)[:4])


def _origins(graph: NestedGraph, name: str, interval: Interval, steps: int = 0) -> Iterator[tuple[str, Interval]]:
    """Yield (input, interval) for the model inputs from which a value is computed.

    `interval` contains the valid values of `name`. It is converted to an interval of the input, operator by operator.
    """
    if steps > MOST_STEPS:
        return
    home = graph.home(name)
    if home is None:
        return
    if home.is_input(name):
        yield name, interval
        return
    if name in home.actuals:
        outer, outer_name = home.actuals[name]
        yield from _origins(outer, outer_name, interval, steps + 1)
        return
    node = home.producers.get(name)
    if node is not None:
        operands = _operands(home, node, interval)
        found = (origin for operand, reached in operands for origin in _origins(home, operand, reached, steps + 1))
        yield from of_branches(found) if node.op_type == "Where" else found


def _operands(graph: NestedGraph, node: onnx.NodeProto, interval: Interval) -> Iterator[tuple[str, Interval]]:
    """Yield (operand, interval) for the operands from which the elements of a node's result are computed."""
    op = node.op_type
    if op in _CARRIERS:
        places = _CARRIERS[op]
        names = node.input if places is None else [node.input[i] for i in places if i < len(node.input)]
        yield from ((name, interval) for name in names if name)
    elif op in ROUNDING:
        yield node.input[0], before_rounding(op, interval)
    elif (reached := solved_unary(op, interval)) is not None:
        yield node.input[0], reached
    elif op in ("Add", "Sub", "Mul", "Div", "Mod"):
        yield from _arithmetic(graph, node, interval)
    elif op == "ReduceSum" and (count := _summed(graph, node)):
        yield node.input[0], (interval[0] / count, interval[1] / count)


def _summed(graph: NestedGraph, node: onnx.NodeProto) -> int | None:
    """Return the number of elements that a ReduceSum adds for each element of its result; None if unknown."""
    shape = graph.shape(node.input[0])
    stated = next((list(a.ints) for a in node.attribute if a.name == "axes"), None)
    operand = constant(graph, node.input[1]) if len(node.input) > 1 else None
    axes = stated if operand is None else operand.reshape(-1).tolist()
    if not shape or not axes or not all(-len(shape) <= axis < len(shape) for axis in axes):
        return None
    sizes = [shape[axis] for axis in axes]
    known_sizes = [size for size in sizes if size is not None]
    return math.prod(known_sizes) if len(known_sizes) == len(sizes) else None


def _arithmetic(graph: NestedGraph, node: onnx.NodeProto, interval: Interval) -> Iterator[tuple[str, Interval]]:
    """Yield (operand, interval) for Add, Sub, Mul, Div or Mod with one constant, or for an Add of two values."""
    left, right = node.input[0], node.input[1]
    a, b = constant(graph, left), constant(graph, right)
    if a is None and b is None:
        if node.op_type == "Add":  # both unknown terms share the interval
            low, high = interval
            yield from ((name, (min(low, 0), max(high, 0) / 2)) for name in (left, right))
        return
    constant_bounds, other = (b, left) if a is None else (a, right)
    if constant_bounds is None or constant_bounds.dtype.kind not in "iuf":
        return
    if node.op_type == "Mod":
        reached = solved_mod(interval, constant_bounds) if a is None else None
    else:
        reached = solved(node.op_type, interval, constant_bounds, reverse=a is not None)
    if reached is not None:
        yield other, reached

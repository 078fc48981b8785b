"""Refuse models that are small files but would make onnxruntime do too much work."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final

from graphfix.checker.files.onnx.graphs import bodies, with_inner_nodes
from graphfix.checker.files.onnx.tensors import elements
from graphfix.results.onnx_messages import TensorProto

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from onnx import GraphProto, ModelProto, NodeProto

MOST_INLINED: Final = 1 << 20
"""The largest number of function nodes that onnxruntime may have to inline."""
MOST_RUN: Final = 1 << 22
"""The largest number of nodes that one run may execute, including the iterations of loops: about 10 seconds."""


def work_fault(models: Sequence[ModelProto], *, thorough: bool) -> str | None:
    """Return why onnxruntime should not load or run these models, or None if it may.

    onnxruntime inlines functions when it loads a model, and each function may call another one twice. Nested loops
    multiply their iterations. `thorough` permits any number of iterations.
    """
    inlined = max(map(_inlined, models))
    if inlined > MOST_INLINED:
        return f"not run: {inlined} nodes of functions would be inlined; --proof-only proves"
    run = 0 if thorough else max(_run(model.graph, {}) for model in models)
    return None if run <= MOST_RUN else f"not run: the loops execute {run} nodes; --thorough runs them all the same"


def _inlined(model: ModelProto) -> int:
    """Return the number of function nodes that replace the calls in the main graph."""
    nodes = {(each.domain, each.name): list(with_inner_nodes(each.node)) for each in model.functions}
    calls = {key: [(node.domain, node.op_type) for node in function_nodes] for key, function_nodes in nodes.items()}
    counts: dict[tuple[str, str], int] = {}
    entered: set[tuple[str, str]] = set()
    pending = list(calls)
    while pending:  # a function is counted after the functions that it calls
        key = pending[-1]
        inner = [] if key in entered else [each for each in calls[key] if each in calls and each not in counts]
        entered.add(key)
        pending += inner
        if not inner:
            counts[key] = len(calls[key]) + sum(counts.get(each, 0) for each in calls[key])
            pending.pop()
    return (
        sum(counts.get((node.domain, node.op_type), 0) for node in with_inner_nodes(model.graph.node)) if counts else 0
    )


def _run(graph: GraphProto, around: Mapping[str, int]) -> int:
    """Return the number of nodes that one run of a graph executes, including the iterations of loops.

    `around` contains constants of the graphs around it. Each loop with an unknown number of iterations counts as one
    iteration.
    """
    numbers = {**around, **dict(_numbers(graph))}
    total = len(graph.node)
    for node in graph.node:
        times = numbers.get(node.input[0], 1) if _is_counted(node) else 1
        total += max(times, 0) * sum(_run(body, numbers) for body in bodies([node]))
    return total


def _numbers(graph: GraphProto) -> Iterator[tuple[str, int]]:
    """Yield (name, number) for the constants of a graph that contain a single int64."""
    initializers = [(tensor.name, tensor) for tensor in graph.initializer]
    for node in graph.node:
        if node.op_type == "Constant" and node.output:
            initializers += [(node.output[0], attribute.t) for attribute in node.attribute if attribute.name == "value"]
    for name, tensor in initializers:
        # large constants were not read, and a constant in a malformed file may have no elements
        is_number = tensor.data_type == TensorProto.INT64 and prod(tensor.dims) == 1
        array = elements(tensor) if is_number else None
        if array is not None:
            yield name, int(array.item())


def _is_counted(node: NodeProto) -> bool:
    """Return whether a node is a Loop that always executes all its iterations, because its condition never changes."""
    if node.op_type != "Loop" or not node.input or not node.input[0]:
        return False
    body = next((each.g for each in node.attribute if each.name == "body"), None)
    if body is None or len(body.input) <= 1 or not body.output or (len(node.input) > 1 and node.input[1]):
        return False
    copies = {each.output[0]: each.input[0] for each in body.node if each.op_type == "Identity" and each.output}
    ended = body.output[0].name
    return bool(copies.get(ended, ended) == body.input[1].name)

"""The ways in which onnxruntime loads two ONNX files: without graph optimizations, and with all of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING, Final

import onnx

from graphfix.checker.files.onnx import external_data
from graphfix.checker.files.onnx.skeleton import read
from graphfix.checker.proof.onnx.operands import bodies
from graphfix.checker.runs.budget import LARGE, allowance
from graphfix.checker.runs.loads import OPTIMIZED, PLAIN, Loads, without_runs
from graphfix.results import Verdict
from graphfix.runtimes.memory import unused
from graphfix.runtimes.process import Child

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from graphfix.checker.files.onnx.external_data import ExternalData
    from graphfix.checker.runs.loads import Ways
    from graphfix.checker.task import Task


MOST_INLINED: Final = 1 << 20
"""Nodes of functions that onnxruntime is given to inline."""


def by_loads(task: Task) -> Verdict:
    """Load two ONNX files without a run. Raises GraphfixError for bad input."""
    models = read(task.before), read(task.after)
    why = inlining_fault(models)
    if why is not None:
        return Verdict("undecided", reason=why)
    data = checked_data(task, models)
    is_large = data[0].bytes_of(models[0])[0] >= LARGE and not task.thorough
    fault = copies_fault(data[1], models[1]) if is_large else None
    with Child() as child:
        child.memory = allowance(data[0].bytes_of(models[0])[0], thorough=task.thorough)
        before, after = (partial(child.load, each.runnable(), folder=each.folder) for each in data)
        verdict = Loads(task.progress).judge(Verdict("undecided"), *ways(before, after, fault))
    versions = {"onnx": onnx.__version__, "onnxruntime": metadata.version("onnxruntime")}
    return replace(verdict, reason=without_runs(verdict.load), versions=versions)


def inlining_fault(models: Sequence[onnx.ModelProto]) -> str | None:
    """Return why models are not given to onnxruntime: it inlines the functions, and their calls may double."""
    most = max(map(_inlined, models))
    return None if most <= MOST_INLINED else f"not run: {most} nodes of functions would be inlined; --proof-only proves"


def _inlined(model: onnx.ModelProto) -> int:
    """Count the nodes of functions that take the places of calls in the main graph."""
    nodes = {(each.domain, each.name): list(_nodes(each.node)) for each in model.functions}
    calls = {key: [(node.domain, node.op_type) for node in held] for key, held in nodes.items()}
    counts: dict[tuple[str, str], int] = {}
    entered: set[tuple[str, str]] = set()
    pending = list(calls)
    while pending:  # a call is counted once what it calls is
        key = pending[-1]
        inner = [] if key in entered else [each for each in calls[key] if each in calls and each not in counts]
        entered.add(key)
        pending += inner
        if not inner:
            counts[key] = len(calls[key]) + sum(counts.get(each, 0) for each in calls[key])
            pending.pop()
    return sum(counts.get((node.domain, node.op_type), 0) for node in _nodes(model.graph.node)) if counts else 0


def _nodes(nodes: Sequence[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yield nodes, and those of the bodies inside them."""
    yield from nodes
    for body in bodies(nodes):
        yield from _nodes(body.node)


def checked_data(task: Task, models: tuple[onnx.ModelProto, onnx.ModelProto]) -> tuple[ExternalData, ExternalData]:
    """Check the data files of both models. Raises GraphfixError."""
    before, after = (
        external_data.checked(path, model, task.data_root)
        for path, model in zip((task.before, task.after), models, strict=True)
    )
    return before, after


def ways(
    before: Callable[..., object], after: Callable[..., object], fault: str | None
) -> tuple[Ways, Mapping[str, str]]:
    """Return the ways to load two files, and those that are left out because of a `fault`."""
    optimized = partial(before, optimized=True), partial(after, optimized=True)
    if fault is not None:
        return {PLAIN: (before, after)}, {OPTIMIZED: fault}
    return {PLAIN: (before, after), OPTIMIZED: optimized}, {}


def copies_fault(data: ExternalData, model: onnx.ModelProto) -> str | None:
    """Return why a large model is not loaded with optimizations, which hold copies of its weights; None if it is."""
    size, loaded = data.bytes_of(model)
    needed, have = size + loaded, unused()
    if needed <= have:
        return None
    amount = f"that may take {needed >> 20} MiB of memory, and {have >> 20} MiB are unused"
    return f"{amount}; --thorough loads it all the same"

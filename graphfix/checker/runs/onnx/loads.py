"""The ways in which onnxruntime loads two ONNX files: without graph optimizations, and with all of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from graphfix.checker.files.onnx import external_data
from graphfix.checker.files.onnx.skeleton import read
from graphfix.checker.runs.budget import LARGE, allowance
from graphfix.checker.runs.loads import OPTIMIZED, PLAIN, Loads, without_runs
from graphfix.checker.runs.onnx.work import work_fault
from graphfix.results import Verdict
from graphfix.results.runtime_facts import installed
from graphfix.runtimes.memory import unused
from graphfix.runtimes.process import Child

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onnx import ModelProto

    from graphfix.checker.files.onnx.external_data import ExternalData
    from graphfix.checker.runs.loads import Ways
    from graphfix.checker.task import Task


def by_loads(task: Task) -> Verdict:
    """Load two ONNX files without running them, and return the verdict. Raise GraphfixError for bad input."""
    models = read(task.pair.before), read(task.pair.after)
    why = work_fault(models, thorough=task.thorough)
    if why is not None:
        return Verdict("undecided", reason=why)
    data = checked_data(task, models)
    is_large = data[0].bytes_of(models[0])[0] >= LARGE and not task.thorough
    fault = copies_fault(data[1], models[1]) if is_large else None
    with Child() as child:
        child.memory = allowance(data[0].bytes_of(models[0])[0], thorough=task.thorough)
        before, after = (partial(child.load, each.runnable(), folder=each.folder) for each in data)
        verdict = Loads(task.progress).judge(Verdict("undecided"), *ways(before, after, fault))
    versions = {"onnxruntime": installed("onnxruntime")}
    return replace(verdict, reason=without_runs(verdict.load), versions=versions)


def checked_data(task: Task, models: tuple[ModelProto, ModelProto]) -> tuple[ExternalData, ExternalData]:
    """Return the checked data files of both models. Raise GraphfixError if a data file is not accepted."""
    before, after = (
        external_data.checked(path, model, task.pair.data_root)
        for path, model in zip((task.pair.before, task.pair.after), models, strict=True)
    )
    return before, after


def ways(
    before: Callable[..., object], after: Callable[..., object], fault: str | None
) -> tuple[Ways, Mapping[str, str]]:
    """Return the ways to load two files as (ways, left out).

    `before` and `after` load the first and the second file.

    If `fault` is a reason against optimizations, the optimized load is left out for this reason.
    """
    optimized = partial(before, optimized=True), partial(after, optimized=True)
    if fault is not None:
        return {PLAIN: (before, after)}, {OPTIMIZED: fault}
    return {PLAIN: (before, after), OPTIMIZED: optimized}, {}


def copies_fault(data: ExternalData, model: ModelProto) -> str | None:
    """Return why a large model is not loaded with optimizations, which copy its weights; None if memory suffices."""
    size, loaded = data.bytes_of(model)
    needed, have = size + loaded, unused()
    if needed <= have:
        return None
    amount = f"that may take {needed >> 20} MiB of memory, and {have >> 20} MiB are unused"
    return f"{amount}; --thorough loads it all the same"

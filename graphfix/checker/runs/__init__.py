"""Run both models on equal inputs and compare their outputs.

Other packages use `static_model` (StaticModel, static_onnx, static_tflite), `sizes.least_sizes` (running), and of
`comparing` the modules `difference` and `unwritten_variables`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphfix.checker.task import Task
    from graphfix.results import Verdict
    from graphfix.runtimes.sessions import Sessions


def by_runs(task: Task, sessions: Sessions) -> Verdict:
    """Compare the two models of a task by runs in the processes of `sessions`, and return the verdict.

    Both models have one format. Raise GraphfixError for bad input.
    """
    if task.pair.tflite:
        from graphfix.checker.runs.tflite import verdict as tflite_runs

        return tflite_runs.by_runs(task, sessions)
    from graphfix.checker.runs.onnx import verdict as onnx_runs

    return onnx_runs.by_runs(task, sessions)

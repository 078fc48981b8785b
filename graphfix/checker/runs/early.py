"""Brief runs of two models in the runtime's process, while this process searches for a proof."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self

from graphfix.checker.runs import by_runs
from graphfix.results import GraphfixError
from graphfix.results.progress import silent
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError
from graphfix.runtimes.sessions import InThisProcess

if TYPE_CHECKING:
    from graphfix.checker.task import Task
    from graphfix.results import Verdict

MODULES: Final = {
    "onnxruntime": "graphfix.checker.runs.onnx.verdict",
    "LiteRT": "graphfix.checker.runs.tflite.verdict",
}
"""Runtime -> the module that makes the runs. The runtime's process imports the module before the first request."""


class EarlyRuns:
    """The brief runs of a pair of models in another process, at the same time as the proof.

    For most models the proof needs as much time as the brief runs. If the proof succeeds and the brief runs find no
    difference, nothing else is run. Otherwise their result is dropped, and complete runs follow.
    """

    def __init__(self, task: Task) -> None:
        """Start the brief runs."""
        self._child = task.process or Child()
        self._is_free = False
        brief = replace(task, brief=True, progress=silent, process=None)
        self._child.begin(__name__, "briefly_run", brief)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    def drop(self) -> None:
        """Stop the brief runs and their process."""
        self._is_free = False
        self._child.close()

    @property
    def process(self) -> Child | None:
        """The process of the brief runs, for other requests. None until the runs have ended, and after `drop`."""
        return self._child if self._is_free else None

    def verdict(self) -> Verdict | None:
        """Wait for the brief runs and return their verdict. None if the process has died or the task is invalid."""
        try:
            verdict: Verdict | None = self._child.finish()
        except RefusedError:
            return None
        self._is_free = True
        return verdict


def briefly_run(task: Task) -> Verdict | None:
    """Run both models in this process and return the verdict. None for bad input, which the caller reports later."""
    with InThisProcess() as sessions:
        try:
            return by_runs(task, sessions)
        except GraphfixError:
            return None

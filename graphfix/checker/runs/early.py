"""Brief runs of two models, made in the runtime's process while the proof is looked for in this one."""

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
"""By runtime: the module that makes the runs. The process imports it before it is asked for any."""


class EarlyRuns:
    """The brief runs of a pair, made by another process.

    The proof takes as long as the runs on most models. If it succeeds, the brief runs are all that is run; if it does
    not, they are dropped.
    """

    def __init__(self, task: Task) -> None:
        """Start them."""
        self._child = task.process or Child()
        self._is_free = False
        brief = replace(task, brief=True, progress=silent, process=None)
        self._child.begin(__name__, "briefly_run", brief)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    def drop(self) -> None:
        """End what still runs."""
        self._is_free = False
        self._child.close()

    @property
    def process(self) -> Child | None:
        """Their process, for other questions; None until they have ended."""
        return self._child if self._is_free else None

    def verdict(self) -> Verdict | None:
        """Wait for their verdict; None if a runtime has ended the process, or the request is wrong."""
        try:
            verdict: Verdict | None = self._child.finish()
        except RefusedError:
            return None
        self._is_free = True
        return verdict


def briefly_run(task: Task) -> Verdict | None:
    """Run both models in this process, and return the verdict; None for bad input, which is reported elsewhere."""
    with InThisProcess() as sessions:
        try:
            return by_runs(task, sessions)
        except GraphfixError:
            return None

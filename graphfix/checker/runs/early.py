"""Brief runs of two models, made while the proof is looked for."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Self

from graphfix.results.progress import Notice
from graphfix.runtimes.process import Child

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphfix.checker.task import Task
    from graphfix.results import Verdict
    from graphfix.results.progress import Progress

_LAST_SECONDS = 5.0
"""How long dropped runs may take to end: only onnx's reference evaluator, which has no process, can't be stopped."""


def _notices(progress: Progress, text: str, done: int = 0, total: int = 0, /) -> None:
    """Pass on what is always shown: the steps that are reported at the same time are those of the proof."""
    if isinstance(text, Notice):
        progress(text, done, total)


class EarlyRuns:
    """The brief runs of a pair, in a thread that mostly waits for the runtime's process.

    The proof takes as long as the runs on most models. If it succeeds, the brief runs are all that is run; if it does
    not, they are dropped.
    """

    def __init__(self, task: Task, runs: Callable[[Task, Child], Verdict]) -> None:
        """Start them: `runs` returns their verdict."""
        self.child = task.process or Child()
        """The process of the runs."""
        brief = replace(task, brief=True, progress=partial(_notices, task.progress))
        self._verdict: Future[Verdict] = Future()
        self._thread = Thread(target=self._run, args=(runs, brief), daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Drop what still runs."""
        self.child.cancel()
        self._thread.join(_LAST_SECONDS)
        self.child.close()

    @property
    def done(self) -> bool:
        """Whether they have ended, so that `child` answers others."""
        return self._verdict.done()

    def verdict(self) -> Verdict:
        """Wait for their verdict. Raises what the runs raise: GraphfixError for bad input."""
        return self._verdict.result()

    def _run(self, runs: Callable[[Task, Child], Verdict], task: Task) -> None:
        try:
            self._verdict.set_result(runs(task, self.child))
        except BaseException as error:  # noqa: BLE001 - who asks for the verdict raises it
            self._verdict.set_exception(error)

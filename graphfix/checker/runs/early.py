"""Brief runs of two models, made while the proof is looked for."""

from __future__ import annotations

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
        self._child = task.process or Child()
        self._dropped = False
        brief = replace(task, brief=True, progress=partial(_notices, task.progress))
        self._verdict: Verdict | None = None
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, args=(runs, brief), daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()
        self._child.close()

    def drop(self) -> None:
        """End what still runs."""
        if self._thread.is_alive():
            self._dropped = True
            self._child.cancel()
            self._thread.join(_LAST_SECONDS)

    @property
    def process(self) -> Child | None:
        """Their process, for other questions; None while they run, or if they were dropped."""
        return None if self._dropped or self._thread.is_alive() else self._child

    def verdict(self) -> Verdict:
        """Wait for their verdict. Raises what the runs raise: GraphfixError for bad input."""
        self._thread.join()
        if self._verdict is None:
            raise self._error or AssertionError
        return self._verdict

    def _run(self, runs: Callable[[Task, Child], Verdict], task: Task) -> None:
        try:
            self._verdict = runs(task, self._child)
        except BaseException as error:  # noqa: BLE001 - who asks for the verdict raises it
            self._error = error

"""Run the jobs of a batch, as many at once as the workers accept, and return the results in the order of the jobs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future, wait
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar

from graphfix.batch.jobs.job import Finished, Job
from graphfix.report.text import Failure
from graphfix.results import GraphfixError, OverwriteError

Kept = TypeVar("Kept")
MOST_KEPT = 10_000
"""The most finished models that wait in memory for an earlier model that is not finished."""
TICK = 1.0
"""The most seconds between two calls of the watcher."""
PATIENCE = 5.0
"""Seconds in which running jobs may clean up when a batch is stopped."""


class Workers(Protocol):
    """An executor of jobs, similar to those of concurrent.futures."""

    most: int
    """The most jobs that are submitted at once."""
    gone: str
    """The error if the workers have dropped jobs."""

    def submit(self, job: Job) -> Future[Finished]:
        """Submit a job."""

    def running(self) -> Sequence[str]:
        """Return the names of the models that are processed now, as far as they are known."""

    def reason(self, error: BaseException) -> str:
        """Return why a job failed, in one line, for the exception of its future."""

    def stop(self) -> None:
        """Cancel waiting jobs and end running ones, without waiting for their end."""


class Watch(Protocol):
    """A watcher of the batch's progress."""

    def finished(self, finished: Finished) -> None:
        """Called for each finished model, in the order in which models finish."""

    def tick(self) -> None:
        """Called regularly while no model finishes."""


@dataclass(slots=True)
class _Flight:
    """The submitted jobs that are not finished, by their numbers."""

    workers: Workers
    jobs: dict[int, tuple[Job, Future[Finished]]] = field(default_factory=dict)
    landed: SimpleQueue[int] = field(default_factory=SimpleQueue)

    def start(self, number: int, job: Job) -> None:
        """Submit a job."""
        try:
            future = self.workers.submit(job)
        except (BrokenExecutor, OSError) as error:
            future = Future()
            future.set_exception(error)
        self.jobs[number] = (job, future)
        future.add_done_callback(lambda _: self.landed.put(number))

    def end(self, seconds: float) -> tuple[int, Finished] | None:
        """Return the number and the result of the next job that finishes; None if none does within `seconds`.

        Raises GraphfixError if the workers have dropped the job.
        """
        try:
            number = self.landed.get(timeout=seconds)
        except Empty:
            return None
        job, future = self.jobs.pop(number)
        return number, self._result(job, future)

    def _result(self, job: Job, future: Future[Finished]) -> Finished:
        try:
            error = future.exception()
        except CancelledError:
            raise GraphfixError(self.workers.gone) from None
        if isinstance(error, OverwriteError):  # a report would replace a file that is read: it is for the whole batch
            raise error
        if error is None:
            return replace(future.result(), job=job)  # of what was sent and came back one copy is enough
        reason = self.workers.reason(error)
        text = reason if reason.startswith(f"{job.model}: ") else f"{job.model}: {reason}"
        return Finished(job, Failure(job.command, job.model, text), 0.0)

    def stop(self) -> None:
        """Cancel waiting jobs, and give running ones time to clean up."""
        if self.jobs:
            self.workers.stop()
            running = [future for _, future in self.jobs.values() if not future.cancelled()]
            wait(running, timeout=PATIENCE)


def run(
    jobs: Iterable[Job], workers: Workers, watch: Watch, kept: Callable[[Finished], Kept]
) -> Generator[Kept, None, None]:
    """Yield the results of the jobs in their order.

    `kept` reduces each result to what is stored until it can be yielded. At most `workers.most` jobs are submitted at
    once, and `jobs` is read only then. Closing the generator stops the batch. Raises GraphfixError if the workers are
    gone.
    """
    flight, done = _Flight(workers), dict[int, Kept]()
    numbered = enumerate(jobs)
    reported = 0
    try:
        while True:
            while len(flight.jobs) < workers.most and len(done) < MOST_KEPT:
                if (following := next(numbered, None)) is None:
                    break
                flight.start(*following)
            if not flight.jobs:
                return
            if (ended := flight.end(TICK)) is None:
                watch.tick()
                continue
            number, finished = ended
            watch.finished(finished)
            done[number] = kept(finished)
            while reported in done:
                yield done.pop(reported)
                reported += 1
    finally:
        flight.stop()

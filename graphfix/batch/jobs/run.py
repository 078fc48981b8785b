"""The jobs of a batch are done, as many at once as there are workers; what comes of them is told in their order."""

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
"""How many models may be done before one in front of them is: what is known of them waits in memory."""
TICK = 1.0
"""Seconds after which whoever watches hears something, if only of the time."""
PATIENCE = 5.0
"""Seconds that jobs have to clean up when a batch is stopped."""


class Workers(Protocol):
    """An executor of the standard library's shape, and what is asked of it beside."""

    most: int
    """How many jobs it is handed at once."""
    gone: str
    """The line that says that it has dropped jobs by itself."""

    def submit(self, job: Job) -> Future[Finished]:
        """Have a job done."""

    def running(self) -> Sequence[str]:
        """The names of the models that are worked on now, as far as it is known."""

    def reason(self, error: BaseException) -> str:
        """Why a job was not done, by what its future raised: text of one line."""

    def stop(self) -> None:
        """Drop what waits, and end what runs; return at once."""


class Watch(Protocol):
    """Whoever watches a batch."""

    def finished(self, finished: Finished) -> None:
        """A model is done; the order is that in which they end."""

    def tick(self) -> None:
        """Time passes."""


@dataclass(slots=True)
class _Flight:
    """The jobs that were handed over and are not done, by their numbers."""

    workers: Workers
    jobs: dict[int, tuple[Job, Future[Finished]]] = field(default_factory=dict)
    landed: SimpleQueue[int] = field(default_factory=SimpleQueue)

    def start(self, number: int, job: Job) -> None:
        """Hand a job over."""
        try:
            future = self.workers.submit(job)
        except (BrokenExecutor, OSError) as error:
            future = Future()
            future.set_exception(error)
        self.jobs[number] = (job, future)
        future.add_done_callback(lambda _: self.landed.put(number))

    def end(self, seconds: float) -> tuple[int, Finished] | None:
        """The number of the next job that ends, and what came of it; None where none does so soon.

        Raises GraphfixError where the workers have dropped it.
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
        """Drop what waits, and give what runs the time to clean up."""
        if self.jobs:
            self.workers.stop()
            running = [future for _, future in self.jobs.values() if not future.cancelled()]
            wait(running, timeout=PATIENCE)


def run(
    jobs: Iterable[Job], workers: Workers, watch: Watch, kept: Callable[[Finished], Kept]
) -> Generator[Kept, None, None]:
    """What came of the jobs, in their order, whatever ended first; `kept` makes of each what is remembered until then.

    Only so many jobs are handed over at once as the workers ask for, and taken from `jobs` then. Who closes it before
    the end stops the batch. Raises GraphfixError where the workers are gone.
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

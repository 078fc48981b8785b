"""What does the jobs of a batch: threads of this process, each of which drives a child, or the workers of a cluster."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from graphfix.batch.jobs import work
from graphfix.batch.jobs.job import Finished, Job

AHEAD = 2
"""Jobs for each thread that are handed over at once: no thread waits for its next one."""


class Threads:
    """Threads of this process."""

    gone = "the batch was stopped"

    def __init__(self, jobs: int) -> None:
        self.most = jobs * AHEAD
        self._executor = ThreadPoolExecutor(jobs, thread_name_prefix="graphfix-batch")
        self._stopped = threading.Event()
        self._running: dict[int, str] = {}

    def submit(self, job: Job) -> Future[Finished]:
        """Have a job done by the next thread that is free."""
        return self._executor.submit(self._work, job)

    def running(self) -> Sequence[str]:
        """The models of the threads, the oldest first."""
        return list(self._running.values())

    def reason(self, error: BaseException) -> str:
        """What went wrong, as the error says it."""
        return said_by(error)

    def stop(self) -> None:
        """Drop what waits, and have the children killed."""
        self._stopped.set()
        self._executor.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """End the threads, and with each its child."""
        self._executor.shutdown(wait=not self._stopped.is_set())

    def _work(self, job: Job) -> Finished:
        self._running[threading.get_ident()] = job.name
        try:
            return work.work(job, self._stopped)
        finally:
            del self._running[threading.get_ident()]


@contextlib.contextmanager
def local(jobs: int) -> Iterator[Threads]:
    """So many models at once on this machine."""
    threads = Threads(jobs)
    try:
        yield threads
    finally:
        threads.close()


def said_by(error: BaseException) -> str:
    """An error in one line, with its kind where it says nothing that a user would know."""
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    else:
        text = str(error) or type(error).__name__
    return " ".join(text.split())

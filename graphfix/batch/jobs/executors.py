"""Run the jobs of a batch in threads of this process; each thread controls a child process."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from graphfix.batch.jobs import work
from graphfix.batch.jobs.job import Finished, Job

AHEAD = 2
"""The number of jobs per thread that are submitted at once, so that no thread waits for its next job."""


class Threads:
    """A pool of threads of this process."""

    gone = "the batch was stopped"

    def __init__(self, jobs: int) -> None:
        self.most = jobs * AHEAD
        self._executor = ThreadPoolExecutor(jobs, thread_name_prefix="graphfix-batch")
        self._stopped = threading.Event()
        self._running: dict[int, str] = {}

    def submit(self, job: Job) -> Future[Finished]:
        """Submit a job; the next free thread runs it."""
        return self._executor.submit(self._work, job)

    def running(self) -> Sequence[str]:
        """Return the names of the models in work, the oldest first."""
        return list(self._running.values())

    def reason(self, error: BaseException) -> str:
        """Return the text of an error in one line."""
        return said_by(error)

    def stop(self) -> None:
        """Cancel the waiting jobs, and kill the child processes."""
        self._stopped.set()
        self._executor.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """End the threads and their child processes."""
        self._executor.shutdown(wait=not self._stopped.is_set())

    def _work(self, job: Job) -> Finished:
        self._running[threading.get_ident()] = job.name
        try:
            return work.work(job, self._stopped)
        finally:
            del self._running[threading.get_ident()]


@contextlib.contextmanager
def local(jobs: int) -> Iterator[Threads]:
    """Return a context with a pool of `jobs` threads on this machine."""
    threads = Threads(jobs)
    try:
        yield threads
    finally:
        threads.close()


def said_by(error: BaseException) -> str:
    """Return an error in one line; its type if it has no text."""
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    else:
        text = str(error) or type(error).__name__
    return " ".join(text.split())

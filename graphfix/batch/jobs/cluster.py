"""Run the jobs of a batch on the workers of a Dask cluster.

The scheduler, retries and the network are those of Dask.
"""

from __future__ import annotations

import contextlib
import logging
import pkgutil
import secrets
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from itertools import count
from typing import Any

from graphfix.batch.jobs import work
from graphfix.batch.jobs.executors import said_by
from graphfix.batch.jobs.job import Finished, Job
from graphfix.results import GraphfixError
from graphfix.runtimes import memory
from graphfix.runtimes.extras import install_command
from graphfix.version import VERSION

SOON = 5
"""Seconds to wait for the answer of a scheduler."""
NOT_STARTED = "Dask's own thread did not start within 10 seconds: the machine has too much to do; try again"
MOST = 4096
"""The most jobs that are given to the scheduler at once, more than a large cluster has threads."""
_STOPS: weakref.WeakValueDictionary[str, threading.Event] = weakref.WeakValueDictionary()
"""On a worker, by batch: the event that stops its jobs. An entry exists while a job of the batch runs."""
_LOCK = threading.Lock()


class Cluster:
    """The present workers of a client's scheduler, and those that join it later."""

    def __init__(self, client: Any, retries: int) -> None:  # noqa: ANN401 - of a Client most methods have no types
        self.most = MOST
        self._client = client
        self._executor = client.get_executor(retries=retries)
        self._batch = secrets.token_hex(8)
        self._numbers = count()
        self._names: dict[str, str] = {}
        self.gone = (
            f"{client.scheduler.address}: the scheduler is gone, or has dropped the jobs; what is done stays, and the "
            "same command goes on with the rest"
        )

    def submit(self, job: Job) -> Future[Finished]:
        """Send a job to the scheduler. Raises GraphfixError if the scheduler is gone."""
        from distributed.client import ClosedClientError

        key = f"graphfix-{job.command}-{self._batch}-{next(self._numbers)}"
        self._names[key] = job.name
        try:
            future: Future[Finished] = self._executor.submit(_done, job, VERSION, self._batch, key=key)
        except ClosedClientError:
            raise GraphfixError(self.gone) from None
        future.add_done_callback(lambda _: self._names.pop(key, None))
        return future

    def running(self) -> Sequence[str]:
        """Return the names of the models that workers process now; empty if the scheduler does not answer."""
        try:
            workers = self._client.processing()
        except (OSError, RuntimeError, ValueError):
            return ()
        return [name for keys in workers.values() for key in keys if (name := self._names.get(key)) is not None]

    def waits(self) -> bool:
        """Return whether there is no worker yet."""
        return not self._client.nthreads()

    def reason(self, error: BaseException) -> str:
        """Return why a job failed, in one line.

        If workers died while they ran the job, the line contains their number and the scheduler's limit.
        """
        from distributed import KilledWorker

        if not isinstance(error, KilledWorker):
            return said_by(error)
        failures = error.allowed_failures
        return (
            f"{failures + 1} workers ended while they had it, the last of them {error.last_worker.address}; the "
            f"scheduler allows {failures} (distributed.scheduler.allowed-failures): look into the workers' logs"
        )

    def stop(self) -> None:
        """Cancel the waiting jobs, and make the workers end the running ones."""
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            self._executor.shutdown(wait=False)
            self._client.run(_stop, self._batch, on_error="ignore")


@contextlib.contextmanager
def dask(address: str, retries: int) -> Iterator[Cluster]:
    """Connect to the scheduler at `address`. Raises GraphfixError if none answers soon."""
    try:
        import dask.config
        import distributed
    except ImportError as error:
        raise GraphfixError(f"a cluster needs Dask ({error}): {install_command('batch')}") from None
    for name in ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # of a connection that is lost one line is said
    with dask.config.set({"distributed.comm.timeouts.connect": f"{SOON}s"}):
        try:
            client: Any = distributed.Client(address, timeout=SOON, set_as_default=False, name="graphfix")  # type: ignore[no-untyped-call]
        except (OSError, ValueError, RuntimeError, TypeError) as error:
            why = f"no Dask scheduler answers ({said_by(error)}); `dask scheduler` starts one and prints its address"
            raise GraphfixError(f"{address}: {why}") from None
        except AssertionError:  # it waits 10 seconds for a thread of its own, and then takes for granted that it runs
            raise GraphfixError(f"{address}: {NOT_STARTED}") from None
        try:
            yield cluster(client, retries)
        finally:
            with contextlib.suppress(OSError, RuntimeError):
                client.close(timeout=SOON)


def cluster(client: Any, retries: int) -> Cluster:  # noqa: ANN401 - see above
    """Return the cluster of a client. Raises GraphfixError if a worker has another version of graphfix, or none."""
    answers: Mapping[str, Any] = client.run(pkgutil.resolve_name, "graphfix:__version__", on_error="return")
    for worker, answer in answers.items():
        if answer != VERSION:
            has = f"has graphfix {answer}" if isinstance(answer, str) else f"has no graphfix ({said_by(answer)})"
            raise GraphfixError(f"worker {worker} {has}, and this is {VERSION}: install the same on both sides")
    return Cluster(client, retries)


# --- on a worker ------------------------------------------------------------------------------------------------------


def _done(job: Job, version: str, batch: str) -> Finished:
    """Run a job on this worker. Raises GraphfixError if the worker joined with another version of graphfix."""
    if version != VERSION:
        raise GraphfixError(f"a worker has graphfix {VERSION}, and the batch is of {version}: install the same on both")
    with _LOCK:
        stopped = _STOPS.setdefault(batch, threading.Event())
    if job.limits.bytes is None:
        job = replace(job, limits=replace(job.limits, bytes=_share()))
    return work.work(job, stopped)


def _share() -> int:
    """Return the bytes of memory for one thread of this worker, from Dask's memory limit or the machine's memory."""
    from distributed import get_worker

    worker = get_worker()
    most = worker.memory_manager.memory_limit or memory.available()
    return int(most) // int(worker.state.nthreads)


def _stop(batch: str) -> None:
    stopped = _STOPS.get(batch)
    if stopped is not None:
        stopped.set()

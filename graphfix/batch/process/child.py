"""Control a child process that processes models one after the other, each within limits of time and memory."""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import CancelledError
from typing import Any, Final, Literal

from graphfix.batch.jobs.job import Limits
from graphfix.batch.process import sessions
from graphfix.results.faults import InternalError
from graphfix.runtimes import memory
from graphfix.runtimes.pipes import GONE, AskedProcess, Watch, cause, module

KEPT: Final = 256 << 20
"""Bytes. A child process that uses more memory after a model is replaced by a new one."""
ONE_THREAD: Final = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Environment variables that limit numeric libraries to one thread, because several models are processed at once."""


class StoppedError(Exception):
    """The child process ended before it answered: it crashed, or it was killed because it exceeded a limit."""

    def __init__(self, why: str, kind: Literal["aborted", "time", "memory"]) -> None:
        super().__init__(why)
        self.kind = kind


class Child:
    """A child process, started when it is needed and restarted after its end. Its own children end with it.

    It is used by a single thread.
    """

    def __init__(self) -> None:
        self._process: AskedProcess | None = None
        self._end: weakref.finalize[..., Child] | None = None
        """Ends the running process; it is also called when the thread or the interpreter ends."""

    def ask(self, message: object, limits: Limits, stop: threading.Event | None = None) -> Any:  # noqa: ANN401 - any answer
        """Send a message to `graphfix.batch.process.worker` and return its answer.

        Raises StoppedError, CancelledError if `stop` is set, InternalError for a defect of graphfix in the worker, and
        the OSError or OverwriteError that the worker sends.
        """
        bounds = _Bounds(self._running(), limits, stop or threading.Event())
        try:
            kind, answer = self._answer(bounds, message)
        except GONE:
            self.stop()
            raise bounds.why() from None
        except BaseException:
            self.stop()
            raise
        if kind == "raised":
            raise answer
        if kind == "fault":
            raise InternalError(answer)
        return answer

    def _answer(self, bounds: _Bounds, message: object) -> tuple[str, Any]:
        process = bounds.process
        with bounds.watch:
            answer: tuple[str, Any] = process.ask(message)
        if bounds.watch.killed or sessions.anonymous(process.pid) > min(KEPT, bounds.bytes // 2):
            self.stop()
        return answer

    def _running(self) -> AskedProcess:
        if self._process is not None and self._process.has_ended:  # the system may end one that waits
            self.stop()
        if self._process is None:
            self._process = AskedProcess(module("graphfix.batch.process.worker"), ONE_THREAD, apart=True)
            self._end = weakref.finalize(self, _ended, self._process)
        return self._process

    def stop(self) -> None:
        """End the process, if it runs."""
        if self._end is not None:
            self._end()
        self._process = self._end = None


class _Bounds:
    """The limits that are checked while a model is processed, and which of them was exceeded."""

    def __init__(self, process: AskedProcess, limits: Limits, stop: threading.Event) -> None:
        self.process = process
        self.bytes = memory.available() if limits.bytes is None else limits.bytes
        self._seconds = limits.seconds
        self._stop = stop
        self._heavy = False
        self.watch = Watch(lambda: sessions.kill(process.pid), limits.seconds, self._are_passed)

    def _are_passed(self) -> bool:
        """Return whether the process exceeds a limit or has ended.

        After its end, its children may keep its pipe open.
        """
        self._heavy = sessions.used(self.process.pid) > self.bytes
        return self._heavy or self._stop.is_set() or self.process.has_ended

    def why(self) -> Exception:
        """Return why the process ended without an answer, as an exception."""
        if self._stop.is_set():
            return CancelledError()
        if self._heavy:
            return StoppedError(f"it needed more than {_size(self.bytes)} of memory", "memory")
        if self.watch.expired:
            return StoppedError(f"it took longer than {self._seconds:g} seconds", "time")
        return StoppedError(f"its process ended ({cause(self.process.end())})", "aborted")


def _ended(process: AskedProcess) -> int:
    """Kill a process and its session, and return its status."""
    sessions.kill(process.pid)
    return process.end()


def _size(number: int) -> str:
    """Return a number of bytes as `1.5 GiB` or `300 MiB`."""
    unit, name = (1 << 30, "GiB") if number >= 1 << 30 else (1 << 20, "MiB")
    return f"{number / unit:.4g} {name}"

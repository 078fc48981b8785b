"""Child processes that answer pickled messages over pipes, with a time limit, and the cause of their end."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Self

GONE = (EOFError, BrokenPipeError, ConnectionError, pickle.UnpicklingError)
"""The exceptions of `AskedProcess.ask` if the process has ended, or ends in the middle of its answer."""


EVERY = 0.2
"""Seconds between two calls of `look` in a `Watch`."""


class AskedProcess:
    """A child process that runs a `module` or a `script` of this package, and answers one message after the other."""

    def __init__(
        self, command: Sequence[str], variables: Mapping[str, str] = MappingProxyType({}), *, apart: bool = False
    ) -> None:
        """Start the process, with `variables` added to its environment.

        If `apart`, the process has a session separate from this one. Signals of a terminal do not reach that session,
        and the whole session can be ended at once.
        """
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environment(), **variables},
            start_new_session=apart,
        )

    @property
    def pid(self) -> int:
        """The process number. If the process was started with `apart`, it is also the number of its session."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Return whether the process has ended, by itself or because of a signal."""
        return self._process.poll() is not None

    def ask(self, message: object) -> Any:  # noqa: ANN401 - whatever the module answers
        """Send a message, and return the answer. Raises the exceptions of GONE if the process has ended."""
        self.tell(message)
        return self.answer()

    def answer(self) -> Any:  # noqa: ANN401 - whatever the module answers
        """Wait for the answer to the last message, and return it.

        Raises the exceptions of GONE if the process has ended.
        """
        if self._process.stdout is None:
            raise EOFError
        return pickle.load(self._process.stdout)  # noqa: S301 - our own module writes it

    def tell(self, message: object) -> None:
        """Send a message without waiting for an answer. Raises the exceptions of GONE if the process has ended."""
        if self._process.stdin is None:
            raise EOFError
        pickle.dump(message, self._process.stdin, protocol=5)
        self._process.stdin.flush()

    def kill(self) -> None:
        """End the process at once. Processes that it has started are not ended."""
        self._process.kill()

    def end(self) -> int:
        """Close the pipes, so that the process ends by itself, and return its exit status.

        If the process has not ended after 5 seconds, it is killed.
        """
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                _close(pipe)
        try:
            return self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def module(name: str) -> list[str]:
    """Return the command that runs a Python module by its name, on the import path of this process's environment."""
    return [sys.executable, "-P", "-m", name]


def script(path: Path, *arguments: str) -> list[str]:
    """Return the command that runs a Python file that needs only the standard library. This is the fastest start."""
    return [sys.executable, "-I", "-S", str(path), *arguments]


def environment() -> dict[str, str]:
    """Return environment variables with which a child in any folder imports the same packages as this process."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, map(os.path.abspath, sys.path)))}


def cause(status: int) -> str:
    """Return the cause of a process's end as a text: its exit status, or the name of the signal that ended it.

    A negative `status` is a signal's number, as in `subprocess`.
    """
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def _close(pipe: IO[bytes]) -> None:
    """Close a pipe to a child process, also if the child has already ended."""
    try:
        pipe.close()
    except BrokenPipeError:
        return  # The child has ended, so the unsent rest of the message is lost.


class Watch:
    """Kills a process after a time limit, or when `look` returns True.

    The reader of its pipe then gets an end of file.

    A watch is used as a context manager around one request.
    """

    def __init__(self, kill: Callable[[], None], seconds: float, look: Callable[[], bool] | None = None) -> None:
        """Prepare a watch; entering the context starts it.

        `kill` ends the process, `seconds` is the time limit, and `look` returns whether there is another reason to end
        the process.
        """
        self.killed = False
        self.expired = False
        """Whether the process was killed because of the time limit."""
        self._kill = kill
        self._seconds = seconds
        self._look = look
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()  # Without this wait, the thread could kill the process during the next request.

    def _watch(self) -> None:
        end = time.monotonic() + self._seconds
        while not self._over.wait(self._pause(end)):
            self.expired = time.monotonic() >= end
            if self.expired or (self._look is not None and self._look()):
                self.killed = True
                self._kill()
                return

    def _pause(self, end: float) -> float:
        """Return how many seconds to wait before the next check; `end` is the time limit on the monotonic clock."""
        left = max(end - time.monotonic(), 0.0)
        return left if self._look is None else min(left, EVERY)

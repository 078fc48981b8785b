"""Child processes of this package that answer pickles over pipes, their time limit, and the cause of their end."""

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
"""What `ask` raises where the process has ended, or ends in the middle of its answer."""


EVERY = 0.2
"""Seconds between two calls of `look`."""


class AskedProcess:
    """A `module` or a `script` of this package that is run, and answers one message after the other."""

    def __init__(
        self, command: Sequence[str], variables: Mapping[str, str] = MappingProxyType({}), *, apart: bool = False
    ) -> None:
        """Start it, with `variables` in its environment.

        `apart`: in a session of its own, which no signal of a terminal reaches, and which can be ended as a whole.
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
        """Its number; of one that is `apart` that of its session, too."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it has, by itself or by a signal."""
        return self._process.poll() is not None

    def ask(self, message: object) -> Any:  # noqa: ANN401 - whatever the module answers
        """Send a message, and return the answer. Raises what GONE lists."""
        self.tell(message)
        return self.answer()

    def answer(self) -> Any:  # noqa: ANN401 - whatever the module answers
        """Return the answer to what was told last. Raises what GONE lists."""
        if self._process.stdout is None:
            raise EOFError
        return pickle.load(self._process.stdout)  # noqa: S301 - our own module writes it

    def tell(self, message: object) -> None:
        """Send a message, and wait for no answer. Raises what GONE lists."""
        if self._process.stdin is None:
            raise EOFError
        pickle.dump(message, self._process.stdin, protocol=5)
        self._process.stdin.flush()

    def kill(self) -> None:
        """End it at once, and not what it has started."""
        self._process.kill()

    def end(self) -> int:
        """Let it see the end of its messages, or end it where it does not heed that; return its status."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                _close(pipe)
        try:
            return self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def module(name: str) -> list[str]:
    """Return the command that runs a module, which finds what this process would import."""
    return [sys.executable, "-P", "-m", name]


def script(path: Path, *arguments: str) -> list[str]:
    """Return the command that runs a file of Python that needs the standard library alone, and starts soonest."""
    return [sys.executable, "-I", "-S", str(path), *arguments]


def environment() -> dict[str, str]:
    """Return an environment in which a child imports what this process would, whatever lies in its working folder."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, map(os.path.abspath, sys.path)))}


def cause(status: int) -> str:
    """Name why a process ended: its exit status, or the signal that ended it."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return  # the child is gone, and what was left for it


class Watch:
    """Kills a process after a time limit, or when `look` returns true, so that the reader of its pipe sees the end."""

    def __init__(self, kill: Callable[[], None], seconds: float, look: Callable[[], bool] | None = None) -> None:
        """`look` returns whether there is another reason to kill the process."""
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
        self._thread.join()  # otherwise the thread could kill the process during the next question

    def _watch(self) -> None:
        end = time.monotonic() + self._seconds
        while not self._over.wait(self._pause(end)):
            self.expired = time.monotonic() >= end
            if self.expired or (self._look is not None and self._look()):
                self.killed = True
                self._kill()
                return

    def _pause(self, end: float) -> float:
        left = max(end - time.monotonic(), 0.0)
        return left if self._look is None else min(left, EVERY)

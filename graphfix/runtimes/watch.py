"""A process that takes too long, or too much, is killed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Self

EVERY = 0.2
"""Seconds between two looks."""


class Watch:
    """Kills a process that takes too long, so that its pipe ends; one that is looked at also for what is seen."""

    def __init__(self, kill: Callable[[], None], seconds: float, look: Callable[[], bool] | None = None) -> None:
        """`look` says whether there is another reason to kill it; nothing does where it is None."""
        self.killed = False
        self.expired = False
        """Whether that was for the time."""
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
        self._thread.join()  # else it could still kill what is asked next

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

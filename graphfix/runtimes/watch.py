"""A process that takes too long is killed."""

from __future__ import annotations

import subprocess
import threading
from typing import Self


class Watch:
    """Kills a process that takes too long, so that its pipe ends."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self.expired = False
        self._process = process
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _expire(self) -> None:
        self.expired = True
        self._process.kill()

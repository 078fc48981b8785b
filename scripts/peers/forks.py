"""Call a function in a forked process, so that a crash or a timeout ends only that process."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Callable, Mapping
from typing import Any


class ForkError(Exception):
    """A forked process returned no value; the message is how the process ended."""


def in_fork(work: Callable[[], Mapping[str, Any]], limit: float) -> dict[str, Any]:
    """Call `work` in a forked process, and return its result, which must be JSON.

    Raise ForkError if the process crashes, fails, or takes longer than `limit` seconds.
    """
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        os.close(reading)
        signal.alarm(int(limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with os.fdopen(writing, "w", encoding="utf-8") as pipe:
            json.dump(work(), pipe)
            pipe.flush()
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        said = pipe.read()
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == 0 and said:
        return dict(json.loads(said))
    if code == -signal.SIGALRM:
        raise ForkError(f"takes longer than {limit:g} s")
    raise ForkError(f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}")

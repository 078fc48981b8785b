"""The process of the command line: `graphfix` and `python -m graphfix`."""

from __future__ import annotations

import _thread
import gc
import os
import signal
import sys
import time
from itertools import count
from types import FrameType
from typing import NoReturn

from graphfix.cli.status import FAILED, INTERRUPTED, PIPE_CLOSED, TERMINATED, Terminated

DELAY, MOST_DELAYS = 0.01, 500
"""The seconds after which a signal that came during an import is raised again, and how often it is."""
_DELAYS = count()


def run() -> NoReturn:
    """Run one command and leave with its exit status.

    A process that lives for one model has nothing to collect: on 100,000 nodes the cyclic garbage collector and the
    interpreter's tearing down take longer than the rewrite.
    """
    gc.disable()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell may want a job to ignore it
        signal.signal(signal.SIGINT, _stop)
    signal.signal(signal.SIGTERM, _stop)
    status = _status()
    try:
        status = _flushed(status)
    except KeyboardInterrupt as stop:  # the command is done, and the reader of stdout does not read
        status = TERMINATED if isinstance(stop, Terminated) else INTERRUPTED
    sys.stderr.flush()
    os._exit(status)


def _status() -> int:
    try:
        # imported behind the handlers: an interrupt while modules are imported prints no traceback
        from graphfix.cli import standard_streams
        from graphfix.cli.commands import main

        standard_streams.repair()
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's import starts threads that spin for nothing
        return main()
    except SystemExit as ended:  # argparse ends so, with what it has printed
        return int(ended.code or 0)
    except KeyboardInterrupt as stop:
        from graphfix.cli import interrupts

        return interrupts.report(stop)


def _flushed(status: int) -> int:
    """The same status, unless all went well but for what was printed: whoever reads it may be gone, by Ctrl-C too."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return status or PIPE_CLOSED
    except OSError as error:
        from graphfix.cli import terminal  # it imports what a question about the command line need not wait for

        terminal.say(f"stdout: {error.strerror}")
        return status or FAILED
    return status


def _stop(number: int, frame: FrameType | None) -> None:
    """Stop once: what cleans up is not to be stopped.

    An import is finished first, if that takes a few seconds at most: an exception in the middle of it ends the process
    where native code is loaded, and Python 3.11 hides it in a RuntimeError where a class is made.
    """
    if _is_importing(frame) and next(_DELAYS) < MOST_DELAYS:
        _thread.start_new_thread(_raise_again, (number,))
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated


def _is_importing(frame: FrameType | None) -> bool:
    """Return whether a module is being imported."""
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None


def _raise_again(number: int) -> None:
    time.sleep(DELAY)
    signal.raise_signal(number)


if __name__ == "__main__":
    run()

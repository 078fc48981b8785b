"""The process of the command line: `graphfix` and `python -m graphfix`."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from graphfix.cli import standard_streams
from graphfix.cli.commands import Terminated, main
from graphfix.cli.status import FAILED, PIPE_CLOSED


def run() -> NoReturn:
    """Run one command and leave with its exit status.

    A process that lives for one model has nothing to collect: on 100,000 nodes the cyclic garbage collector and the
    interpreter's tearing down take longer than the rewrite.
    """
    gc.disable()
    standard_streams.repair()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy starts them on import, they spin, and no matrix comes
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell may want a job to ignore it
        signal.signal(signal.SIGINT, _stop)
    signal.signal(signal.SIGTERM, _stop)
    try:
        status = main()
    except SystemExit as ended:  # argparse ends so, with what it has printed
        status = int(ended.code or 0)
    status = _flushed(status)
    sys.stderr.flush()
    os._exit(status)


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


def _stop(number: int, _: FrameType | None) -> NoReturn:
    """Stop once: what cleans up is not to be stopped."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated


if __name__ == "__main__":
    run()

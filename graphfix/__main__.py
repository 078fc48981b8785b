"""The process of the command line: `graphfix` and `python -m graphfix`."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from graphfix.cli.commands import main
from graphfix.cli.status import TERMINATED


def run() -> NoReturn:
    """Run one command and leave with its exit status.

    A process that lives for one model has nothing to collect: on 100,000 nodes the cyclic garbage collector and the
    interpreter's tearing down take longer than the rewrite.
    """
    gc.disable()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell may want a job to ignore it
        signal.signal(signal.SIGINT, _stop)
    signal.signal(signal.SIGTERM, _stop)
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _stop(number: int, _: FrameType | None) -> NoReturn:
    """Stop once: what cleans up is not to be stopped."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(TERMINATED)


if __name__ == "__main__":
    run()

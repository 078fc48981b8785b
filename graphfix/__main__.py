"""The process of the command line: `graphfix` and `python -m graphfix`."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

from graphfix.cli.commands import main


def run() -> NoReturn:
    """Run one command and leave with its exit status.

    A process that lives for one model has nothing to collect: on 100,000 nodes the cyclic garbage collector and the
    interpreter's tearing down take longer than the rewrite.
    """
    gc.disable()
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    run()

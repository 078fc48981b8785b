"""The exit statuses of the command line."""

from __future__ import annotations

DONE, NO, FAILED, UNDECIDED, LEFT = 0, 1, 2, 3, 4
WORST = (DONE, LEFT, UNDECIDED, NO, FAILED)
"""The statuses in ascending order of severity. For several models, the last one in this order counts."""
INTERRUPTED, PIPE_CLOSED, TERMINATED = 130, 141, 143
"""The statuses that a shell reports for a program ended by Ctrl-C, by a closed pipe, or by `kill`."""


class Terminated(KeyboardInterrupt):
    """Raised on SIGTERM. It is derived from KeyboardInterrupt, so that no `except Exception` catches it."""

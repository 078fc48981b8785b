"""The exit statuses."""

from __future__ import annotations

DONE, NO, FAILED, UNDECIDED, LEFT = 0, 1, 2, 3, 4
WORST = (DONE, LEFT, UNDECIDED, NO, FAILED)
"""For several models the worst status decides: the last of these."""
INTERRUPTED, PIPE_CLOSED, TERMINATED = 130, 141, 143
"""What a shell says of a program that Ctrl-C, a pipe closed at its other end, or `kill` has ended."""


class Terminated(KeyboardInterrupt):
    """Raised on SIGTERM as KeyboardInterrupt is on Ctrl-C; derived from it, so that no `except Exception` stops it."""

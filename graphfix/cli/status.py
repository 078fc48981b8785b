"""The exit statuses."""

from __future__ import annotations

DONE, NO, FAILED, UNDECIDED = 0, 1, 2, 3
WORST = (DONE, UNDECIDED, NO, FAILED)
"""Of several models the one whose status stands last here decides."""
INTERRUPTED, PIPE_CLOSED, TERMINATED = 130, 141, 143
"""What a shell says of a program that Ctrl-C, a pipe closed at its other end, or `kill` has ended."""

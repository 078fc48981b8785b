"""The exit statuses."""

from __future__ import annotations

DONE, NO, FAILED, UNDECIDED = 0, 1, 2, 3
WORST = (DONE, NO, UNDECIDED, FAILED)
"""Of several models the one whose status stands last here decides."""
INTERRUPTED, PIPE_CLOSED = 130, 141
"""What a shell says of a program that an interrupt, or a pipe closed at its other end, has ended."""

"""What a process has imported, for tests that ask another process."""

from __future__ import annotations

import sys


def imported(name: str) -> bool:
    """Return whether this process has imported a package."""
    return name in sys.modules

"""Print notices of a long command on stderr: off a terminal instead of progress, on a terminal above the bar."""

from __future__ import annotations

import sys

from graphfix.report import printable
from graphfix.results.progress import Notice


def notices(text: str, _done: int = 0, _total: int = 0, /) -> None:
    """Print `text` on stderr if it is a notice; ignore the names of steps."""
    if isinstance(text, Notice):
        print(f"graphfix: {printable(text)}", file=sys.stderr, flush=True)

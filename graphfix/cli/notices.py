"""Print the notices of a long command on stderr where nobody watches its steps: off a terminal, and above the bar."""

from __future__ import annotations

import sys

from graphfix.report import printable
from graphfix.results.progress import Notice


def notices(text: str, _done: int = 0, _total: int = 0, /) -> None:
    """Print a notice on stderr, and no other step."""
    if isinstance(text, Notice):
        print(f"graphfix: {printable(text)}", file=sys.stderr, flush=True)

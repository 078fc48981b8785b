"""graphfix makes every implicit broadcast of a model explicit, and shows that nothing else changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from graphfix.version import VERSION

if TYPE_CHECKING:
    from graphfix.api import check, explain, fix, fix_file, load, show, verify
    from graphfix.results import GraphfixError, Outcome, Verdict

__version__ = VERSION
__all__ = ["GraphfixError", "Outcome", "Verdict", "check", "explain", "fix", "fix_file", "load", "show", "verify"]
_RESULTS = ("GraphfixError", "Outcome", "Verdict")

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
"""onnxruntime 1.32 reads this variable when it is imported, and without it writes an identifier below the home folder.

The variable is set here because every process that graphfix starts imports this package before onnxruntime.
"""


def __getattr__(name: str) -> object:
    """Import a public name when it is asked for: the package itself imports neither rewrites nor a format."""
    if name not in __all__:
        raise AttributeError(f"module 'graphfix' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("graphfix.results" if name in _RESULTS else "graphfix.api"), name)


def __dir__() -> list[str]:
    """The public names too, which are imported when they are asked for."""
    return sorted({*globals(), *__all__})

"""graphfix makes every implicit broadcast of a model explicit, and shows that nothing else changed."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphfix.api import check, explain, fix, fix_file, load, show, verify
    from graphfix.results import GraphfixError, Outcome, Verdict

__version__ = "0.1.0"
__all__ = ["GraphfixError", "Outcome", "Verdict", "check", "explain", "fix", "fix_file", "load", "show", "verify"]
_RESULTS = ("GraphfixError", "Outcome", "Verdict")


class _Package(ModuleType):
    """The package: its `verify` is the public function, also once something has imported the room of that name."""

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute, as an import does with every room that it loads, unless that hides the function."""
        if not (name == "verify" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    """Import a public name when it is asked for: the package itself imports neither rewrites nor a format."""
    if name not in __all__:
        raise AttributeError(f"module 'graphfix' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("graphfix.results" if name in _RESULTS else "graphfix.api"), name)

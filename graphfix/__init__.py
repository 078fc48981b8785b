"""graphfix makes every implicit broadcast of a model explicit, and shows that nothing else changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from graphfix.version import VERSION

if TYPE_CHECKING:
    from graphfix.api import check, explain, fix, fix_file, load, show, verify
    from graphfix.api.model import Model
    from graphfix.graph.view import Graph, Node, Value
    from graphfix.results import Change, Conversion, GraphfixError, Load, OpenSizes, Outcome, Run, Site, Verdict

__version__ = VERSION
HOMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "graphfix.api.model": ("Model",),
        "graphfix.api": ("check", "explain", "fix", "fix_file", "load", "show", "verify"),
        "graphfix.results": tuple("Change Conversion GraphfixError Load OpenSizes Outcome Run Site Verdict".split()),
        "graphfix.graph.view": ("Graph", "Node", "Value"),
    }
)
"""By module: the public names that it defines."""
__all__ = [
    "Change",
    "Conversion",
    "Graph",
    "GraphfixError",
    "Load",
    "Model",
    "Node",
    "OpenSizes",
    "Outcome",
    "Run",
    "Site",
    "Value",
    "Verdict",
    "check",
    "explain",
    "fix",
    "fix_file",
    "load",
    "show",
    "verify",
]

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
"""onnxruntime 1.32 reads this variable when it is imported, and without it writes an identifier below the home folder.

The variable is set here because every process that graphfix starts imports this package before onnxruntime.
"""


def __getattr__(name: str) -> object:
    """Import a public name when it is asked for: the package itself imports neither rewrites nor a format."""
    for home, names in HOMES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(home), name)
    raise AttributeError(f"module 'graphfix' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, which are imported when they are asked for."""
    return ["__version__", *__all__]

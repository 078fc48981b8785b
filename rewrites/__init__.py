"""The rewrites, in the order in which they run.

Each is a module with a docstring (its page) and a pure function `plan`.
"""

from __future__ import annotations

from collections.abc import Container
from importlib import import_module
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from graphfix.graph.protocols import Step, UntilNothingChanges, rewrite
from graphfix.targets.registry import ORDER

if TYPE_CHECKING:
    ALL: tuple[Step, ...]
    """Every step, in order."""


def steps(names: Container[str] | None = None) -> tuple[Step, ...]:
    """Return the steps that contain the rewrites of these names; with None, all steps.

    Only these rewrites are imported.
    """
    made: list[Step] = []
    for turn, entries in groupby(ORDER, attrgetter("turn")):
        modules = [entry.module for entry in entries if names is None or entry.name in names]
        rewrites = tuple(rewrite(import_module(f"rewrites.{module}")) for module in modules)
        made += rewrites if turn is None else [UntilNothingChanges(rewrites)] * bool(rewrites)
    return tuple(made)


def __getattr__(name: str) -> tuple[Step, ...]:
    """Return all steps for the attribute `ALL`; every rewrite is imported then.

    Raises AttributeError for any other name.
    """
    if name != "ALL":
        raise AttributeError(f"module 'rewrites' has no attribute {name!r}")
    return steps()

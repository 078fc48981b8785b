"""The rewrites, in the order in which they run: one module each, a docstring and a pure plan."""

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
    """Return the steps with the rewrites of these names alone, or with all: only those are imported."""
    made: list[Step] = []
    for turn, entries in groupby(ORDER, attrgetter("turn")):
        modules = [entry.module for entry in entries if names is None or entry.name in names]
        rewrites = tuple(rewrite(import_module(f"rewrites.{module}")) for module in modules)
        made += rewrites if turn is None else [UntilNothingChanges(rewrites)] * bool(rewrites)
    return tuple(made)


def __getattr__(name: str) -> tuple[Step, ...]:
    """Import all of them where `ALL` is asked for."""
    if name != "ALL":
        raise AttributeError(f"module 'rewrites' has no attribute {name!r}")
    return steps()

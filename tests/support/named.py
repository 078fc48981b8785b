"""Rewrites by name, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewrites import ALL

if TYPE_CHECKING:
    from graphfix.graph.edits import Rewrite


def rules(*names: str) -> tuple[Rewrite, ...]:
    """Give the rewrites of these names."""
    found = tuple(rule for rule in ALL if rule.name in names)
    assert len(found) == len(names)
    return found

"""Rewrites by name, in their order."""

from __future__ import annotations

from graphfix.graph.protocols import Step, chosen, flat
from rewrites import ALL


def rules(*names: str) -> tuple[Step, ...]:
    """Give the rewrites of these names, in the groups that repeat."""
    found = chosen(ALL, names)
    assert len(list(flat(found))) == len(names)
    return found

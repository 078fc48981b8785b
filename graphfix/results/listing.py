"""What `show` prints of a model: its scopes, the nodes that were asked for, and how their operands broadcast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from graphfix.results.records import dataclass

AxisMark = Literal["plain", "stretched", "maybe"]
"""What an operator does along one axis of an operand: nothing, it repeats it, or that depends on sizes not known."""


@dataclass(frozen=True, slots=True)
class ListedValue:
    """A value as one node reads or makes it."""

    name: str
    sizes: Sequence[str] | None
    """None where the rank is not known."""
    marks: Sequence[AxisMark] = ()
    """One for each size of an operand that broadcasts; else nothing."""
    lifted: int = 0
    """How many axes of the result the operand lacks in front."""
    elements: str | None = None
    """Those of a small constant, as `[1, 1, -1]`."""
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class ListedNode:
    """One node."""

    op: str
    name: str
    """Nothing where the file gives it none."""
    results: Sequence[ListedValue]
    operands: Sequence[ListedValue | None]
    """None for one that is left out."""
    unknown: bool = False
    """Whether it is not known how the operands broadcast."""
    maps: Sequence[str] = ()
    """The indexing maps of the operands, or why they are not known, where they were asked for."""


@dataclass(frozen=True, slots=True)
class ListedScope:
    """One graph, body or function."""

    path: str
    nodes: Sequence[ListedNode]
    inputs: Sequence[ListedValue] = ()
    outputs: Sequence[ListedValue] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """A model, or the part of it that was asked for; all numbers are those of the whole model."""

    scopes: Sequence[ListedScope]
    nodes: int
    shown: int | None
    """How many nodes were asked for; None where all were."""
    operators: Mapping[str, int]
    """How many nodes each has, those with most first."""
    lifted: int
    """Operands that an operator lifts."""
    stretched: int
    maybe: int
    """Operands that may be stretched, by sizes that are not known."""
    unknown: int
    """Nodes of which it is not known how their operands broadcast."""

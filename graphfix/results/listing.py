"""The data that `show` prints of a model: its graphs, the selected nodes, and how their operands broadcast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from graphfix.results.records import dataclass

AxisMark = Literal["plain", "stretched", "maybe"]
"""Whether an operator repeats an axis of an operand: no ("plain"), yes, or "maybe", if it depends on unknown sizes."""


@dataclass(frozen=True, slots=True)
class ListedValue:
    """A value as one node reads or produces it."""

    name: str
    sizes: Sequence[str] | None
    """The sizes as texts; None if the rank is unknown."""
    marks: Sequence[AxisMark] = ()
    """For each size of an operand that takes part in the broadcast, whether it is stretched; else empty."""
    lifted: int = 0
    """The number of leading axes of the result that the operand does not have."""
    elements: str | None = None
    """The elements of a small constant: `[1, 1, -1]`."""
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class ListedNode:
    """A node as `show` prints it."""

    op: str
    name: str
    """The name in the file; empty if it has none."""
    results: Sequence[ListedValue]
    operands: Sequence[ListedValue | None]
    """None stands for an absent optional operand."""
    unknown: bool = False
    """Whether it is unknown how the operands broadcast."""
    maps: Sequence[str] = ()
    """The operands' indexing maps, or the reason why they are unknown; only if maps were requested."""


@dataclass(frozen=True, slots=True)
class ListedScope:
    """The selected nodes of one graph, body or function."""

    path: str
    nodes: Sequence[ListedNode]
    inputs: Sequence[ListedValue] = ()
    outputs: Sequence[ListedValue] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """The selected part of a model. All numbers but `shown` count the whole model."""

    scopes: Sequence[ListedScope]
    nodes: int
    shown: int | None
    """The number of selected nodes; None if all nodes are selected."""
    operators: Mapping[str, int]
    """By operator: its number of nodes; the most frequent operator comes first."""
    lifted: int
    """The number of operands that an operator lifts implicitly."""
    stretched: int
    maybe: int
    """The number of operands that may be stretched, depending on unknown sizes."""
    unknown: int
    """The number of nodes for which it is unknown how their operands broadcast."""

"""The part of a model that a report draws: nodes with sites, how their operands broadcast, and neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from graphfix.results.records import dataclass, field

JsonShape = tuple[int | str | None, ...] | None
"""A shape as JSON shows it: ints, strings for symbols, None for an unknown dim; None for an unknown rank."""

Certainty = Literal["yes", "no", "maybe"]


@dataclass(frozen=True, slots=True)
class OperandAxis:
    """How one axis of a node's broadcast space reads an operand."""

    source: int | None
    """The operand's axis; None for an axis that a lift adds."""
    stretched: Certainty
    """Whether the operand is repeated along this axis; `maybe` if the sizes do not decide it."""


@dataclass(frozen=True, slots=True)
class OperandExcerpt:
    """An operand that takes part in a broadcast, before any edit."""

    index: int
    value: str
    shape: JsonShape
    axes: Sequence[OperandAxis]
    """One entry for each axis of the node's `space`."""
    matrix: JsonShape = ()
    """The sizes of axes that are not broadcast: the last two of a matrix product's operand."""
    itemsize: int | None = None
    """Bytes of an element; None if unknown."""


@dataclass(frozen=True, slots=True)
class NodeExcerpt:
    """The notation of a node before and after the edits; None if the node does not exist then."""

    key: str
    """The node's unique key in the excerpt, which `reads_before` and `reads_after` refer to."""
    graph: str
    """`main`, or the path of the body that contains the node."""
    node: str
    """The name that sites use: the node's name, or `Op#index` if it has none."""
    op: str
    position: int | None
    """The index in its graph of the file that was read, from 0; None for a node that an edit inserted."""
    before: str | None
    after: str | None
    reads_before: Sequence[str] = ()
    """The keys of the nodes whose results it reads before the edits."""
    reads_after: Sequence[str] = ()
    space: JsonShape = None
    """The shape to which the operands broadcast before any edit.

    None if the node does not broadcast, or if the shape is unknown.
    """
    operands: Sequence[OperandExcerpt] = ()
    """The operands that take part in the broadcast; empty if `space` is None."""
    site: bool = False
    """Whether the node has a site; False for a neighbour of such a node."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The nodes with sites, and all nodes at most `steps` edges away."""

    nodes: Sequence[NodeExcerpt]
    """In the order of the file, graph by graph; an inserted node precedes its first reader."""
    steps: int
    left_out: int = 0
    """The number of nodes of the model that are not in the excerpt."""
    names: Mapping[str, str] = field(default_factory=dict)
    """By path of a graph: its name in the file, by which other viewers know it."""

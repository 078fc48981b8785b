"""What a report draws of a model: the nodes that sites are about as text, how their operands lie, and what is near."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from graphfix.results.records import dataclass, field

JsonShape = tuple[int | str | None, ...] | None
"""A shape as JSON shows it: ints, strings for symbols, None for an unknown dim; None when unranked."""

Certainty = Literal["yes", "no", "maybe"]


@dataclass(frozen=True, slots=True)
class OperandAxis:
    """What lies along one axis of the space over which a node's operands broadcast."""

    source: int | None
    """The operand's own axis; None for one that a lift adds."""
    stretched: Certainty
    """Whether its size is 1 (or it is added) and the result's is not; `maybe` where the sizes do not say it."""


@dataclass(frozen=True, slots=True)
class OperandExcerpt:
    """An operand that takes part in a broadcast, before any edit."""

    index: int
    value: str
    shape: JsonShape
    axes: Sequence[OperandAxis]
    """One for each axis of the node's `space`."""
    matrix: JsonShape = ()
    """The axes that are not broadcast: the last two of a matrix product's operand."""
    itemsize: int | None = None
    """Bytes of an element, None where that is not known."""


@dataclass(frozen=True, slots=True)
class NodeExcerpt:
    """A node as `show` prints it, before and after the edits; None where it is not there."""

    key: str
    """Unique in the excerpt: what `reads_before` and `reads_after` name."""
    graph: str
    """`main`, or the path of the body that holds it."""
    node: str
    """Its name, or `Op#index` when it has none, as a site names it."""
    op: str
    position: int | None
    """Its place in the file that was read, counted in its graph from 0; None for one that an edit made."""
    before: str | None
    after: str | None
    reads_before: Sequence[str] = ()
    """The keys of the nodes whose results it reads."""
    reads_after: Sequence[str] = ()
    space: JsonShape = None
    """The sizes over which its operands broadcast, before any edit; None where it does not, or they are not known."""
    operands: Sequence[OperandExcerpt] = ()
    """Those that take part, where `space` is known."""
    site: bool = False
    """Whether a site is about it; else it stands around one."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part of a model that is around sites: their nodes and all that are at most `steps` edges away."""

    nodes: Sequence[NodeExcerpt]
    """In the order of the file, graph by graph; what edits made stands in front of its first reader."""
    steps: int
    left_out: int = 0
    """How many nodes of the model are further away."""
    names: Mapping[str, str] = field(default_factory=dict)
    """By graph, as a node says it: the name that the file has of it, under which viewers know it."""

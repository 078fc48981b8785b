"""How an operator reads its operands together: one indexing map for each operand, over one iteration space."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from graphfix.checker.proof.core.sizes import Sizes

Axes: TypeAlias = tuple[int | None, ...]
"""An indexing map: for each axis of a value, the axis of its core that it follows.

None if the axis follows no axis of the core, or one of size 1.
"""


@dataclass(frozen=True, slots=True, eq=False)
class LoopNest:
    """An operator with the indexing maps of its operands over an iteration space. Equal nests are one object.

    `TermTable.loop_nest` makes sure of that, so that a term is compared by the identities of its parts. Two terms with
    one nest differ only in the cores that they read.
    """

    operator: tuple[object, ...]
    maps: tuple[Axes, ...]
    space: Sizes


class BroadcastSpace(NamedTuple):
    """How several operands are broadcast together, restricted to the axes that at least one operand follows.

    `maps` contains the map of each operand over `space`, and `sizes` is the shape of the result.
    """

    maps: tuple[Axes, ...]
    space: Sizes
    core_sizes: Sizes
    """The sizes of the result's core, one for each axis of `space`."""
    axes: Axes
    """The map by which the result reads its core."""
    sizes: Sizes

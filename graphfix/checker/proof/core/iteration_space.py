"""How operators read operands together: indexing maps over one space."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from graphfix.checker.proof.core.sizes import Sizes

Axes: TypeAlias = tuple[int | None, ...]
"""For each axis of a view the axis of its core that it follows; None where it follows none, or one of size 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Nest:
    """An operator with the maps of its operands over a space: terms of one nest differ in what they read alone.

    Equal ones are one object, so that a term is found by a few identities.
    """

    operator: tuple[object, ...]
    maps: tuple[Axes, ...]
    space: Sizes


class Frame(NamedTuple):
    """How operands are read together: the map of each, and the space, for the axes that some operand follows."""

    maps: tuple[Axes, ...]
    space: Sizes
    core_sizes: Sizes
    """The sizes that the core has."""
    axes: Axes
    """The map of the result."""
    sizes: Sizes

"""What was read of a node, kept where it is asked for: its operands, and the maps by which it reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphfix.checker.proof.terms import Core, Table, View

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.sizes import Algebra

OPERAND = "operand"


@dataclass(frozen=True, slots=True)
class Note:
    """One node of one file."""

    graph: str
    """`main`, `main/NODE.BODY` for a body, `function DOMAIN.NAME` for a function."""
    label: str
    """Its name, or `Op#index` where the file gives none."""
    told: str
    op: str
    names: tuple[tuple[str, ...], tuple[str, ...]]
    """Of its operands and of its results; nothing for one that is not given."""
    operands: tuple[View | None, ...]
    results: tuple[View | None, ...]
    parts: Mapping[str, tuple[object, str]]
    """What else a term of it is made of: by name the thing that is compared, and how it is printed."""
    apart: Core | None
    """Its term where each operand is a value of its own, if it broadcasts: the maps of this are the node's own."""


@dataclass(slots=True, eq=False)
class Notes:
    """Notes of the nodes that are asked for, in the order in which they were read."""

    wanted: frozenset[int] | None = None
    """The numbers of cores whose nodes are asked for; None for every node that broadcasts."""
    taken: list[Note] = field(default_factory=list)
    makers: dict[int, Note] = field(default_factory=dict)
    """By the number of a wanted core the node that made it."""

    def take(self, results: Sequence[View | None], before: int, note: Callable[[], Note]) -> None:
        """Keep a node of these results, if it is asked for; `before` is how many cores there were until then."""
        if self.wanted is None:
            made = note()
            if made.apart is not None:
                self.taken.append(made)
            return
        found = {view.core.number for view in results if view is not None and view.core.number >= before} & self.wanted
        for number in found - self.makers.keys():
            self.makers[number] = note()

    def forget(self, count: int) -> None:
        """Keep the first notes alone: a body is read anew, on values of other shapes."""
        del self.taken[count:]


def apart(algebra: Algebra, views: Sequence[View | None]) -> tuple[Table, list[View | None]]:
    """See each operand as a value of its own, of its own sizes: the maps over it are those of the operand.

    The table is another one, so that nothing is entered into what is compared.
    """
    seen: list[View | None] = []
    for index, view in enumerate(views):
        if view is None:
            seen.append(None)
            continue
        core = Core((OPERAND, index), index, f"operand {index}", counted=False)
        core.sizes = view.sizes
        seen.append(View(core, None if view.sizes is None else tuple(range(len(view.sizes))), view.sizes))
    return Table(algebra), seen

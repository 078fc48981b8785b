"""Bound the work of one analysis: how many nodes of bodies and functions it reads grows linearly with the file.

A few nodes can ask for much work: each of 20 functions may call the next one twice, and a Loop's body is read up to
12 times, as is the body of a Loop inside it each time.
"""

from __future__ import annotations

from typing import Final

from graphfix.results.records import dataclass

FEWEST: Final = 1 << 15
"""Nodes that are read for any file, which takes about 1 s."""
EACH: Final = 16
"""How many more are read for each node of the file, those of bodies and functions with them."""


@dataclass(slots=True, eq=False)
class Budget:
    """The nodes of bodies and functions that may still be read; the main graph's are not counted."""

    left: int = FEWEST

    def allow(self, nodes: int) -> None:
        """Raise the budget for so many nodes of the file, each counted once."""
        self.left += EACH * nodes

    def allows(self, nodes: int) -> bool:
        """Whether so many nodes may be read once more; they are counted when they are read."""
        return nodes <= self.left

    def read(self, nodes: int) -> None:
        """Count nodes that are read."""
        self.left -= nodes

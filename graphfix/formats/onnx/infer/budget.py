"""Limit the work of one analysis: the number of nodes that it reads is linear in the nodes of the file.

Few nodes can cause much work. For example, each of 20 functions may call the next one twice. A Loop's body is read up
to 12 times, and the body of a Loop inside it is read 12 times in each of them.
"""

from __future__ import annotations

from typing import Final

from graphfix.results.records import dataclass

FEWEST: Final = 1 << 15
"""Nodes that are read for any file, which takes about 1 s."""
EACH: Final = 16
"""The number of further readings for each node of the file, including nodes of bodies and functions."""


@dataclass(slots=True, eq=False)
class Budget:
    """The nodes of bodies and functions that may still be read; the main graph's are not counted."""

    left: int = FEWEST

    def allow(self, nodes: int) -> None:
        """Raise the budget for this number of nodes of the file. Each node is counted once."""
        self.left += EACH * nodes

    def allows(self, nodes: int) -> bool:
        """Return whether this number of nodes may be read once more. They are counted when they are read."""
        return nodes <= self.left

    def read(self, nodes: int) -> None:
        """Count nodes that are read."""
        self.left -= nodes

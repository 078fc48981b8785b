"""Bound the work of a proof, so that it ends in seconds: the budget grows linearly with the two files.

A few nodes can ask for much work: each function may call the next one twice, and each Concat may double a constant.
"""

from __future__ import annotations

from typing import Final

from graphfix.results.records import dataclass

_FEWEST_NODES: Final = 1 << 12
"""Nodes of bodies and functions that are read for any two files, which takes about 1 s."""
_NODES_A_NODE: Final = 64
"""How many more are read for each node of the files: a function counts once for each call, a body for each reading."""
_MOST_BYTES: Final = 1 << 27
"""Bytes of constants that are computed; each of them is at most 512 KiB."""


class TooLargeError(Exception):
    """The proof would take more steps than its budget: the two files are undecided."""


@dataclass(slots=True, eq=False)
class Budget:
    """The steps that a proof may still do."""

    nodes: int = _FEWEST_NODES
    folded: int = _MOST_BYTES

    def allow(self, nodes: int) -> None:
        """Raise the budget for two files with so many nodes in all, each counted once."""
        self.nodes += _NODES_A_NODE * nodes

    def read(self, nodes: int, where: str) -> None:
        """Count nodes of a body or function. Raises TooLargeError beyond the budget."""
        self.nodes -= nodes
        if self.nodes < 0:
            raise TooLargeError(f"too large to decide: {where} is read too often, in calls or loops within each other")

    def fold(self, count: int, where: str) -> None:
        """Count the bytes of a computed constant. Raises TooLargeError beyond the budget."""
        self.folded -= count
        if self.folded < 0:
            raise TooLargeError(f"too large to decide: {where} and nodes before it compute too many constants")

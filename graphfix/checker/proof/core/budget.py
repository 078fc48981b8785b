"""A limit on the work of one proof, so that every proof ends in seconds. The limit grows linearly with the two files.

Without a limit, few nodes could cause much work: each function may call the next function twice, and each Concat may
double the size of a constant.
"""

from __future__ import annotations

from typing import Final

from graphfix.results.records import dataclass

_FEWEST_NODES: Final = 1 << 12
"""Nodes of bodies and functions that may be read for any two files, which takes about 1 s."""
_NODES_A_NODE: Final = 64
"""How many more nodes may be read for each node of the files.

A function's nodes count once for each call, and a body's nodes once for each time the body is read.
"""
_MOST_BYTES: Final = 1 << 27
"""Bytes of constants that may be computed; each constant has at most 512 KiB."""


class TooLargeError(Exception):
    """The proof would exceed its budget, so it does not decide whether the two files are equal."""


@dataclass(slots=True, eq=False)
class Budget:
    """The work that a proof may still do: `nodes` to read, and bytes of constants to compute (`folded`)."""

    nodes: int = _FEWEST_NODES
    folded: int = _MOST_BYTES

    def allow(self, nodes: int) -> None:
        """Raise the budget for two files that contain `nodes` nodes in all, where each node is counted once."""
        self.nodes += _NODES_A_NODE * nodes

    def read(self, nodes: int, where: str) -> None:
        """Subtract the nodes of a body or function that is read. Raises TooLargeError if the budget is exceeded.

        `where` is the path of the body or function, for the message.
        """
        self.nodes -= nodes
        if self.nodes < 0:
            raise TooLargeError(f"too large to decide: {where} is read too often, in calls or loops within each other")

    def fold(self, count: int, where: str) -> None:
        """Subtract `count` bytes of a computed constant. Raises TooLargeError if the budget is exceeded.

        `where` is the description of the node, for the message.
        """
        self.folded -= count
        if self.folded < 0:
            raise TooLargeError(f"too large to decide: {where} and nodes before it compute too many constants")

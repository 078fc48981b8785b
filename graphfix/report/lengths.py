"""How long the lists of the table are: short, or with -v whole."""

from __future__ import annotations

import sys

from graphfix.results.records import dataclass


@dataclass(frozen=True, slots=True)
class Lengths:
    """How many lines of a kind the table shows."""

    edited: int
    """Operands made explicit, or found."""
    staying: int
    """Of each status that stays."""
    open: int
    """Sizes that are not known."""
    assumed: int
    grouped: bool = True
    """Whether sites that are alike share a line."""


SHORT = Lengths(20, 6, 4, 5)
WHOLE = Lengths(sys.maxsize, sys.maxsize, sys.maxsize, sys.maxsize, grouped=False)

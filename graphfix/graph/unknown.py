"""Exceptions that a plan raises if it can't know an operand; the engine leaves the node alone with their text."""

from __future__ import annotations

from graphfix.shapes.shape import Undecided


class UnrankedOperand(Undecided):
    """An operand whose rank is not known (finding code GF104)."""


class MissingOperandError(Undecided, LookupError):
    """A required operand is missing in the file; the runtime refuses such a node."""


class StaleShape(Undecided):
    """A stored shape that the computed one contradicts (finding code GF204)."""

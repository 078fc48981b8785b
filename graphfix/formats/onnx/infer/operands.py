"""One node as a shape rule sees it, and what a scope can say of the names that the node reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from graphfix.operators import Row
from graphfix.shapes.shape import Shape, Size


class Sight(Protocol):
    """What a scope can say of a name that is visible in it."""

    def shape(self, name: str) -> Shape:
        """The value's shape."""

    def content(self, name: str) -> Shape | None:
        """The shape that an integer vector holds: `Shape(x)` has the content `x.shape`."""

    def vector(self, name: str) -> tuple[Size, ...] | None:
        """The elements of an integer vector or scalar; numbers may be negative."""

    def ints(self, name: str) -> tuple[int, ...] | None:
        """The elements of a small integer vector where all are known as numbers."""


@dataclass(slots=True)
class Call:
    """One node as a rule sees it."""

    sight: Sight
    row: Row | None
    inputs: Sequence[str]
    """The operands' names, empty for an absent one."""
    attributes: dict[str, object]

    def shape(self, index: int) -> Shape | None:
        """The operand's shape, None when absent."""
        name = self.inputs[index] if index < len(self.inputs) else ""
        return self.sight.shape(name) if name else None

    def ranked(self, index: int) -> tuple[Size, ...] | None:
        """The operand's dims, None when absent or unranked."""
        shape = self.shape(index)
        return shape.axes if shape is not None else None

    def content(self, index: int) -> Shape | None:
        """The shape that the operand holds."""
        return self.sight.content(self.inputs[index]) if index < len(self.inputs) else None

    def vector(self, index: int) -> tuple[Size, ...] | None:
        """The operand's elements; numbers may be negative."""
        return self.sight.vector(self.inputs[index]) if index < len(self.inputs) else None

    def ints(self, index: int, attribute: str) -> tuple[int, ...] | None:
        """A list of ints that older operator sets give as an attribute, newer ones as an operand."""
        value = self.attributes.get(attribute)
        if isinstance(value, tuple):
            return value
        return self.sight.ints(self.inputs[index]) if index < len(self.inputs) else None

    def length(self, index: int) -> int | None:
        """How many elements a vector operand has."""
        dims = self.ranked(index)
        return dims[0] if dims and len(dims) == 1 and isinstance(dims[0], int) else None

    def number(self, attribute: str, default: int) -> int:
        """An integer attribute."""
        value = self.attributes.get(attribute, default)
        return value if isinstance(value, int) else default

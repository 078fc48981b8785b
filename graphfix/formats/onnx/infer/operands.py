"""One node as a shape rule sees it: its operands' shapes and elements, and its attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from graphfix.formats.onnx.infer.scope import GraphScope
from graphfix.operators import Row
from graphfix.shapes.shape import Shape, Size


@dataclass(slots=True)
class Call:
    """One node as a rule sees it; operands are named by position."""

    scope: GraphScope
    row: Row | None
    inputs: Sequence[str]
    """The operands' names, empty for an absent one."""
    attributes: dict[str, object]

    def shape(self, index: int) -> Shape | None:
        """Return the operand's shape, None when absent."""
        name = self.inputs[index] if index < len(self.inputs) else ""
        return self.scope.shape(name) if name else None

    def dims(self, index: int) -> tuple[Size, ...] | None:
        """Return the operand's dims, None when absent or unranked."""
        shape = self.shape(index)
        return shape.axes if shape is not None else None

    def content(self, index: int) -> Shape | None:
        """Return the shape that the operand holds."""
        return self.scope.content(self.inputs[index]) if index < len(self.inputs) else None

    def elements(self, index: int) -> tuple[Size, ...] | None:
        """Return the elements of an integer operand, as far as they can be followed; they may be negative."""
        return self.scope.vector(self.inputs[index]) if index < len(self.inputs) else None

    def ints(self, index: int, attribute: str) -> tuple[int, ...] | None:
        """Return a list of ints that older operator sets have as an attribute, newer ones as an operand."""
        value = self.attributes.get(attribute)
        if isinstance(value, tuple):
            return value
        return self.scope.ints(self.inputs[index]) if index < len(self.inputs) else None

    def length(self, index: int) -> int | None:
        """Return how many elements a vector operand has."""
        dims = self.dims(index)
        return dims[0] if dims and len(dims) == 1 and isinstance(dims[0], int) else None

    def number(self, attribute: str, default: int) -> int:
        """Return an integer attribute."""
        value = self.attributes.get(attribute, default)
        return value if isinstance(value, int) else default


Results: TypeAlias = tuple[Shape | None, ...]
"""One shape a result, None (or nothing) where a rule does not know it; a size that it does not know is UNKNOWN."""
Rule: TypeAlias = Callable[[Call], Results]
NOTHING: Results = ()

"""One node as a rule sees it: the shapes and elements of its operands, and its attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from graphfix.formats.onnx.infer.scope import INTEGERS, GraphScope
from graphfix.operators.row import Row
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Shape, Size
from graphfix.shapes.terms import Terms

MOST_AXES = 64
"""The length of longer vectors is not read: they hold neither shapes nor axes."""


@dataclass(slots=True)
class Call:
    """One node as a rule sees it; operands are named by position."""

    scope: GraphScope
    row: Row | None
    op: str
    version: int
    """The opset version of its domain that is imported."""
    inputs: Sequence[str]
    """The operands' names, empty for an absent one."""
    results: int
    """How many results the node lists."""
    attributes: Mapping[str, object]
    first_shape: Shape | None = None
    """The shape to read for operand 0 in place of its own, where a rule expects the axes in another order."""

    def reading(self, operands: Sequence[int]) -> Call:
        """Return the call with these operands as operands 0, 1, 2 ...; missing ones are absent."""
        inputs = [self.inputs[at] if at < len(self.inputs) else "" for at in operands]
        first = None if operands and operands[0] else self.first_shape
        return replace(self, inputs=inputs, first_shape=first)

    @property
    def terms(self) -> Terms:
        """Arithmetic with sizes."""
        return self.scope.terms

    def shape(self, index: int) -> Shape | None:
        """Return the operand's shape, None when absent."""
        if not index and self.first_shape is not None:
            return self.first_shape
        name = self.inputs[index] if index < len(self.inputs) else ""
        return self.scope.shape(name) if name else None

    def dims(self, index: int) -> tuple[Size, ...] | None:
        """Return the operand's dims, None when absent or unranked."""
        shape = self.shape(index)
        return shape.axes if shape is not None else None

    def has(self, index: int) -> bool:
        """Return whether the operand is present."""
        return index < len(self.inputs) and bool(self.inputs[index])

    def dtype(self, index: int) -> int:
        """Return the operand's element type, 0 where it is absent or not known."""
        return self.scope.dtype(self.inputs[index]) if self.has(index) else 0

    def is_integer(self, index: int) -> bool:
        """Return whether the operand's elements are known to be int64 or int32."""
        return self.dtype(index) in INTEGERS

    def content(self, index: int) -> Shape | None:
        """Return the shape that the operand, an integer vector, holds; None if it is not followed."""
        return self.scope.content(self.inputs[index]) if index < len(self.inputs) else None

    def elements(self, index: int) -> tuple[Size, ...] | None:
        """Return the elements of an integer operand, as far as they can be followed; they may be negative."""
        return self.scope.vector(self.inputs[index]) if index < len(self.inputs) else None

    def floats(self, index: int) -> tuple[float, ...] | None:
        """Return the elements of a small float32 operand, where it is a constant."""
        return self.scope.floats(self.inputs[index]) if self.has(index) else None

    def scalar(self, index: int) -> Size | None:
        """Return the one element of an integer operand; it may be negative."""
        elements = self.elements(index)
        return elements[0] if elements is not None and len(elements) == 1 else None

    def ints(self, index: int, attribute: str) -> tuple[int, ...] | None:
        """Return a list of ints that older operator sets have as an attribute, newer ones as an operand."""
        value = self.list(attribute)
        if value is not None:
            return value
        return self.scope.ints(self.inputs[index]) if index < len(self.inputs) else None

    def length(self, index: int) -> int | None:
        """Return how many elements a vector operand has; of more than a shape has, None."""
        dims = self.dims(index)
        return dims[0] if dims and len(dims) == 1 and isinstance(dims[0], int) and dims[0] <= MOST_AXES else None

    def number(self, attribute: str, default: int) -> int:
        """Return an integer attribute."""
        value = self.attributes.get(attribute, default)
        return value if isinstance(value, int) else default

    def stated(self, attribute: str) -> int | None:
        """Return an integer attribute that has no default; None where the node does not state it."""
        value = self.attributes.get(attribute)
        return value if isinstance(value, int) else None

    def flag(self, attribute: str, default: int) -> bool | None:
        """Return an attribute that is 0 or 1; None for other numbers, which runtimes take for either."""
        return {0: False, 1: True}.get(self.number(attribute, default))

    def list(self, attribute: str) -> tuple[int, ...] | None:
        """Return an attribute that is a list of ints, None where it is absent."""
        value = self.attributes.get(attribute)
        if not isinstance(value, tuple) or not all(isinstance(each, int) for each in value):
            return None
        return value

    def text(self, attribute: str, default: str = "") -> str:
        """Return an attribute that is text."""
        value = self.attributes.get(attribute, default)
        return value if isinstance(value, str) else default


Results: TypeAlias = tuple[Shape | None, ...]
"""One shape for each result, None or no entry where a rule does not know it; an unknown size is UNKNOWN."""
Rule: TypeAlias = Callable[[Call], Results]
NOTHING: Results = ()

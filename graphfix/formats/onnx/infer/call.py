"""One node from the view of a rule: the shapes and elements of its operands, and its attributes."""

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
"""The greatest length of a vector whose length is read. A longer vector contains neither a shape nor axes."""


@dataclass(slots=True)
class Call:
    """One node from the view of a rule; operands are selected by position."""

    scope: GraphScope
    row: Row | None
    op: str
    version: int
    """The imported version of the operator set of its domain."""
    inputs: Sequence[str]
    """The names of the operands; an absent operand has an empty name."""
    results: int
    """The number of results that the node lists."""
    attributes: Mapping[str, object]
    first_shape: Shape | None = None
    """The shape of operand 0 with its axes in the order that the rule expects; None if they are in that order."""

    def reading(self, operands: Sequence[int]) -> Call:
        """Return the call with these operands as operands 0, 1, 2 ...; missing operands are absent."""
        inputs = [self.inputs[at] if at < len(self.inputs) else "" for at in operands]
        first = None if operands and operands[0] else self.first_shape
        return replace(self, inputs=inputs, first_shape=first)

    @property
    def terms(self) -> Terms:
        """The arithmetic of sizes of the model."""
        return self.scope.terms

    def shape(self, index: int) -> Shape | None:
        """Return the shape of operand `index`; None if the operand is absent or has no known shape."""
        if not index and self.first_shape is not None:
            return self.first_shape
        name = self.inputs[index] if index < len(self.inputs) else ""
        return self.scope.shape(name) if name else None

    def dims(self, index: int) -> tuple[Size, ...] | None:
        """Return the sizes of the operand's axes; None if the operand is absent or unranked."""
        shape = self.shape(index)
        return shape.axes if shape is not None else None

    def has(self, index: int) -> bool:
        """Return whether the operand is present."""
        return index < len(self.inputs) and bool(self.inputs[index])

    def dtype(self, index: int) -> int:
        """Return the operand's element type; 0 if it is absent or its type is unknown."""
        return self.scope.dtype(self.inputs[index]) if self.has(index) else 0

    def is_integer(self, index: int) -> bool:
        """Return whether the operand has the element type int64 or int32."""
        return self.dtype(index) in INTEGERS

    def content(self, index: int) -> Shape | None:
        """Return the shape whose sizes the operand, an integer vector, contains; None if it is unknown."""
        return self.scope.content(self.inputs[index]) if index < len(self.inputs) else None

    def elements(self, index: int) -> tuple[Size, ...] | None:
        """Return the elements of an integer operand, or None if they are unknown. They may be negative."""
        return self.scope.vector(self.inputs[index]) if index < len(self.inputs) else None

    def floats(self, index: int) -> tuple[float, ...] | None:
        """Return the elements of a small float32 operand that is a constant, or None."""
        return self.scope.floats(self.inputs[index]) if self.has(index) else None

    def scalar(self, index: int) -> Size | None:
        """Return the only element of an integer operand, or None. It may be negative."""
        elements = self.elements(index)
        return elements[0] if elements is not None and len(elements) == 1 else None

    def ints(self, index: int, attribute: str) -> tuple[int, ...] | None:
        """Return a list of ints that is an attribute in older operator sets and an operand in newer ones, or None."""
        value = self.list(attribute)
        if value is not None:
            return value
        return self.scope.ints(self.inputs[index]) if index < len(self.inputs) else None

    def length(self, index: int) -> int | None:
        """Return the number of elements of a vector operand; None if it is unknown or above `MOST_AXES`."""
        dims = self.dims(index)
        return dims[0] if dims and len(dims) == 1 and isinstance(dims[0], int) and dims[0] <= MOST_AXES else None

    def number(self, attribute: str, default: int) -> int:
        """Return an integer attribute, or `default`."""
        value = self.attributes.get(attribute, default)
        return value if isinstance(value, int) else default

    def stated(self, attribute: str) -> int | None:
        """Return an integer attribute that has no default; None if it is absent or not an integer."""
        value = self.attributes.get(attribute)
        return value if isinstance(value, int) else None

    def flag(self, attribute: str, default: int) -> bool | None:
        """Return an attribute that is 0 or 1 as a bool; None for other numbers, which runtimes read as either."""
        return {0: False, 1: True}.get(self.number(attribute, default))

    def list(self, attribute: str) -> tuple[int, ...] | None:
        """Return an attribute that is a list of ints; None if it is absent."""
        value = self.attributes.get(attribute)
        if not isinstance(value, tuple) or not all(isinstance(each, int) for each in value):
            return None
        return value

    def text(self, attribute: str, default: str = "") -> str:
        """Return an attribute that is a text, or `default`."""
        value = self.attributes.get(attribute, default)
        return value if isinstance(value, str) else default


Results: TypeAlias = tuple[Shape | None, ...]
"""One shape for each result. A result that a rule does not know has None or no entry; an unknown size is UNKNOWN."""
Rule: TypeAlias = Callable[[Call], Results]
NOTHING: Results = ()

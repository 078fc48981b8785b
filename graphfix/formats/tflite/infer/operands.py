"""One operator as a shape rule sees it, and what is known of the tensors that it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from graphfix.formats.tflite.file.records import ABSENT, Operator, Tensor
from graphfix.operators import Row
from graphfix.shapes.polynomial import Terms
from graphfix.shapes.shape import Dim, Shape, Size


class Operands(Protocol):
    """What is known of a subgraph's tensors, and the names of sizes that the analysis makes."""

    terms: Terms
    index: int

    def name(self, tensor: int, axis: int) -> Dim:
        """Return the named unknown that is the size of one axis."""

    def shape(self, tensor: int) -> Shape:
        """The shape, as far as it is known by now."""

    def elements(self, tensor: int) -> tuple[Size, ...] | None:
        """The elements of a small integer tensor, row-major; they may be negative."""

    def record(self, tensor: int) -> Tensor:
        """The record of the file."""

    def options(self, operator: Operator) -> Mapping[str, object]:
        """The builtin options."""


@dataclass(slots=True)
class Call:
    """One operator as a rule sees it; operands and results are named by position."""

    operands: Operands
    op: str
    row: Row | None
    operator: Operator
    _options: Mapping[str, object] | None = field(default=None, repr=False)

    @property
    def terms(self) -> Terms:
        """Arithmetic with sizes."""
        return self.operands.terms

    @property
    def count(self) -> int:
        """How many operands there are, absent ones counted."""
        return len(self.operator.inputs)

    def tensor(self, index: int) -> int:
        """The tensor that is operand `index`, ABSENT when there is none."""
        inputs = self.operator.inputs
        return inputs[index] if index < len(inputs) else ABSENT

    def shape(self, index: int) -> Shape | None:
        """The operand's shape, None when absent."""
        tensor = self.tensor(index)
        return self.operands.shape(tensor) if tensor != ABSENT else None

    def dims(self, index: int) -> tuple[Size, ...] | None:
        """The operand's dims, None when absent or unranked."""
        shape = self.shape(index)
        return shape.axes if shape is not None else None

    def elements(self, index: int) -> tuple[Size, ...] | None:
        """The elements of an integer operand, as far as they can be followed; they may be negative."""
        tensor = self.tensor(index)
        return self.operands.elements(tensor) if tensor != ABSENT else None

    def ints(self, index: int) -> tuple[int, ...] | None:
        """The elements of an integer operand where all of them are numbers."""
        elements = self.elements(index)
        if elements is None:
            return None
        found = tuple([element for element in elements if isinstance(element, int)])
        return found if len(found) == len(elements) else None

    def scalar(self, index: int) -> int | None:
        """The one element of an operand where it is a number."""
        found = self.ints(index)
        return found[0] if found is not None and len(found) == 1 else None

    def length(self, index: int) -> int | None:
        """How many elements a vector operand has."""
        dims = self.dims(index)
        return dims[0] if dims and len(dims) == 1 and isinstance(dims[0], int) else None

    def option(self, name: str) -> object:
        """A builtin option, None where the file or the reader has none."""
        if self._options is None:
            self._options = self.operands.options(self.operator)
        return self._options.get(name)

    def number(self, name: str, default: int = 0) -> int:
        """An integer option."""
        value = self.option(name)
        return value if isinstance(value, int) else default

    def result(self, index: int = 0) -> Tensor | None:
        """The record of a result."""
        outputs = self.operator.outputs
        return self.operands.record(outputs[index]) if index < len(outputs) and outputs[index] != ABSENT else None


Results: TypeAlias = tuple[Shape | None, ...]
"""One shape a result, None (or nothing) where no shape follows; a size that does not follow is UNKNOWN."""
Rule: TypeAlias = Callable[[Call], Results]

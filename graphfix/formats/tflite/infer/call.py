"""One operator with the shapes and elements of its operands and its options: the argument of all rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from graphfix.formats.tflite.file.records import ABSENT, Operator, Tensor
from graphfix.formats.tflite.infer.scope import GraphScope
from graphfix.operators.row import Row
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import Shape, Size
from graphfix.shapes.terms import Terms


@dataclass(slots=True)
class Call:
    """One operator for a rule; operands and results are numbered by position."""

    scope: GraphScope
    op: str
    row: Row | None
    operator: Operator
    _options: Mapping[str, object] | None = field(default=None, repr=False)

    @property
    def terms(self) -> Terms:
        """Arithmetic with sizes."""
        return self.scope.terms

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
        return self.scope.shapes[tensor] if tensor != ABSENT else None

    def dims(self, index: int) -> tuple[Size, ...] | None:
        """The operand's dims, None when absent or unranked."""
        shape = self.shape(index)
        return shape.axes if shape is not None else None

    def elements(self, index: int) -> tuple[Size, ...] | None:
        """The elements of an integer operand, as far as they can be followed; they may be negative."""
        tensor = self.tensor(index)
        return self.scope.elements(tensor) if tensor != ABSENT else None

    def ints(self, index: int) -> tuple[int, ...] | None:
        """The elements of an integer operand where all of them are numbers."""
        elements = self.elements(index)
        if elements is None:
            return None
        found = tuple([element for element in elements if isinstance(element, int)])
        return found if len(found) == len(elements) else None

    def element(self, index: int) -> Size | None:
        """The one element of an operand, as far as it can be followed; it may be negative."""
        elements = self.elements(index)
        return elements[0] if elements is not None and len(elements) == 1 else None

    def scalar(self, index: int) -> int | None:
        """The one element of an operand where it is a number."""
        found = self.element(index)
        return found if isinstance(found, int) else None

    def length(self, index: int) -> int | None:
        """How many elements a vector operand has."""
        dims = self.dims(index)
        return dims[0] if dims and len(dims) == 1 and isinstance(dims[0], int) else None

    def option(self, name: str) -> object:
        """A builtin option, None where the file or the reader has none."""
        if self._options is None:
            self._options = self.scope.container.options(self.operator)
        return self._options.get(name)

    def number(self, name: str, default: int = 0) -> int:
        """An integer option."""
        value = self.option(name)
        return value if isinstance(value, int) else default

    def result(self, index: int = 0) -> Tensor | None:
        """The record of a result."""
        outputs = self.operator.outputs
        return self.scope.tensors[outputs[index]] if index < len(outputs) and outputs[index] != ABSENT else None


Results: TypeAlias = tuple[Shape | None, ...]
"""One shape a result, None (or nothing) where no shape follows; a size that does not follow is UNKNOWN."""
Rule: TypeAlias = Callable[[Call], Results]

"""One operator with its options and with the shapes and elements of its operands: the argument of every shape rule."""

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
    """One operator as the argument of a rule; operands and results are numbered by position."""

    scope: GraphScope
    op: str
    row: Row | None
    operator: Operator
    _options: Mapping[str, object] | None = field(default=None, repr=False)

    @property
    def terms(self) -> Terms:
        """Return the arithmetic with sizes."""
        return self.scope.terms

    @property
    def count(self) -> int:
        """Return the number of operands, absent ones included."""
        return len(self.operator.inputs)

    def tensor(self, index: int) -> int:
        """Return the index of the tensor that is operand `index`; ABSENT if there is none."""
        inputs = self.operator.inputs
        return inputs[index] if index < len(inputs) else ABSENT

    def shape(self, index: int) -> Shape | None:
        """Return the shape of an operand; None if the operand is absent."""
        tensor = self.tensor(index)
        return self.scope.shapes[tensor] if tensor != ABSENT else None

    def dims(self, index: int) -> tuple[Size, ...] | None:
        """Return the sizes of an operand; None if the operand is absent or its rank is unknown."""
        shape = self.shape(index)
        return shape.axes if shape is not None else None

    def elements(self, index: int) -> tuple[Size, ...] | None:
        """Return the elements of a small integer operand, as numbers or symbols; None if they are not known.

        Elements may be negative.
        """
        tensor = self.tensor(index)
        return self.scope.elements(tensor) if tensor != ABSENT else None

    def ints(self, index: int) -> tuple[int, ...] | None:
        """Return the elements of an integer operand if all of them are numbers; otherwise None."""
        elements = self.elements(index)
        if elements is None:
            return None
        found = tuple([element for element in elements if isinstance(element, int)])
        return found if len(found) == len(elements) else None

    def element(self, index: int) -> Size | None:
        """Return the only element of an operand, a number or symbol, which may be negative.

        Return None if it is not known, or if there is not exactly one element.
        """
        elements = self.elements(index)
        return elements[0] if elements is not None and len(elements) == 1 else None

    def scalar(self, index: int) -> int | None:
        """Return the only element of an operand if it is a number; otherwise None."""
        found = self.element(index)
        return found if isinstance(found, int) else None

    def length(self, index: int) -> int | None:
        """Return the number of elements of a vector operand; None if the operand is not a vector of known length."""
        dims = self.dims(index)
        return dims[0] if dims and len(dims) == 1 and isinstance(dims[0], int) else None

    def option(self, name: str) -> object:
        """Return a builtin option; None if the operator has no such option or graphfix does not read it."""
        if self._options is None:
            self._options = self.scope.container.options(self.operator)
        return self._options.get(name)

    def number(self, name: str, default: int = 0) -> int:
        """Return an integer option; `default` if there is no such integer option."""
        value = self.option(name)
        return value if isinstance(value, int) else default

    def result(self, index: int = 0) -> Tensor | None:
        """Return the record of a result; None if the operator has no such result."""
        outputs = self.operator.outputs
        return self.scope.tensors[outputs[index]] if index < len(outputs) and outputs[index] != ABSENT else None


Results: TypeAlias = tuple[Shape | None, ...]
"""One shape for each result.

None, or a missing shape, if the rule can't infer it; a size that can't be inferred is UNKNOWN.
"""
Rule: TypeAlias = Callable[[Call], Results]

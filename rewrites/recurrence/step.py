"""The operands of one step of a recurrent operator, and functions that make the new nodes of the step."""

from __future__ import annotations

from typing import TypeAlias

from graphfix.graph.edits import New, Source
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Shape
from rewrites.recurrence.nodes import FLOAT, columns

Activations: TypeAlias = tuple[str, ...]
"""Names of activation operators, such as Sigmoid, in the order of the attribute `activations`."""
States: TypeAlias = tuple[Source, ...]
"""The states after a step, the output first: [1,B,H] each."""


@dataclass(frozen=True, slots=True)
class Step:
    """The values that one step reads, other than the states."""

    x: Source
    """The parts of all gates that depend only on the input, side by side: [1,B,G*H]."""
    weights: tuple[New, ...]
    """The state's weights for all gates, [1,H,G*H], or split into parts of some gates each."""
    bias: Source | None
    """The bias of the state's part, [1,1,G*H]; None if it is already added to the input's part."""
    shape: tuple[int, int, int]
    """The sizes of a state: [1,B,H]."""
    activations: Activations

    def each(self, op: str, *operands: Source) -> New:
        """Return a new element-wise node on states: [1,B,H]."""
        return New(op, operands, Shape(self.shape), FLOAT)

    def product(self, state: Source, part: int = 0) -> New:
        """Return the product of the state with the weights, or with one part of the weights."""
        weights = self.weights[part]
        return New("MatMul", (state, weights), Shape((*self.shape[:2], weights.shape.numbers[2])), FLOAT)

    def gate(self, source: Source, at: int) -> New:
        """Return the part of one gate along axis 2: [1,B,H]."""
        return columns(source, (self.shape[0], self.shape[1]), self.shape[2], at, at + 1)

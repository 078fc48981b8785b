"""What one step of a recurrent operator reads, and the nodes that it is made of."""

from __future__ import annotations

from typing import TypeAlias

from graphfix.graph.edits import New, Source
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Shape
from rewrites.recurrence.nodes import FLOAT, columns

Activations: TypeAlias = tuple[str, ...]
"""Operators, in the order of the attribute `activations`."""
States: TypeAlias = tuple[Source, ...]
"""What a step hands on, its output first: [1,B,H] each."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one step reads besides the states."""

    x: Source
    """The part of each gate that follows from the input, one behind another: [1,B,G*H]."""
    weights: tuple[New, ...]
    """Of the state: [1,H,G*H], or in parts of some gates each."""
    bias: Source | None
    """Of the state's part, where it is not added to the input's: [1,1,G*H]."""
    shape: tuple[int, int, int]
    """Of a state: [1,B,H]."""
    activations: Activations

    def each(self, op: str, *operands: Source) -> New:
        """An element-wise operator on states."""
        return New(op, operands, Shape(self.shape), FLOAT)

    def product(self, state: Source, part: int = 0) -> New:
        """The state by the weights, or by a part of them."""
        weights = self.weights[part]
        return New("MatMul", (state, weights), Shape((*self.shape[:2], weights.shape.numbers[2])), FLOAT)

    def gate(self, source: Source, at: int) -> New:
        """The part of one gate, along axis 2."""
        return columns(source, (self.shape[0], self.shape[1]), self.shape[2], at, at + 1)

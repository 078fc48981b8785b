"""Unroll a recurrent ONNX operator: nodes that all steps share, each step in order, and the concatenated states.

Every value has rank 3, with the step or the direction first: x[T,B,I], a state [1,B,H], weights [1,I,G*H], where G is
the number of gates. Slices keep the axis, so no state is reshaped.
"""

from __future__ import annotations

from graphfix.graph.edits import New, Numbers, Source
from graphfix.graph.view import Node, optional_operand
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Shape
from rewrites.recurrence.cells import CELLS
from rewrites.recurrence.nodes import FLOAT, concat, reshaped, sliced, transposed
from rewrites.recurrence.step import Activations, Step

X, W, R, B = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Run:
    """The results of one direction."""

    all: New
    """The output of every step, in the order of time: [T,B,H]."""
    last: tuple[Source, ...]
    """Each state after the last step: [1,B,H]."""


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A recurrent operator whose sizes are numbers."""

    node: Node
    steps: int
    batch: int
    hidden: int
    directions: int
    initial: tuple[int | None, ...]
    """For each state, the index of the operand with the initial state; None for zeros."""

    @staticmethod
    def of(node: Node, *initial: int | None) -> Recurrence:
        """Return the operator with the sizes of x[T,B,I] and r[D,G*H,H].

        `initial` are the operands with the initial states.
        """
        (steps, batch, _), (directions, _, hidden) = (node.operand(at).ranked.numbers for at in (X, R))
        return Recurrence(node, steps, batch, hidden, directions, initial[: CELLS[node.op].states])

    def run(self, direction: int, activations: Activations) -> Run:
        """Unroll one direction, and return its results. A single direction may be reverse."""
        cell = CELLS[self.node.op]
        backwards = direction == 1 or self.node.attributes.get("direction") == "reverse"
        gates = cell.gates * self.hidden
        projected = self._projected(direction, gates, linear=cell.linear(self.node))
        gate_weights = transposed(self._part(R, direction), (1, self.hidden, gates))
        weights = cell.weights(self.node, gate_weights, self.hidden)
        bias = reshaped(self._bias(direction, gates, gates), (1, 1, gates)) if cell.linear(self.node) else None
        states = tuple(self._begun(at, direction) for at in self.initial)
        shape, outputs = (1, self.batch, self.hidden), list[Source]()
        for step in reversed(range(self.steps)) if backwards else range(self.steps):
            x = sliced(projected, 0, step, step + 1, (1, self.batch, gates))
            states = cell.step(Step(x, weights, bias, shape, activations), states)
            outputs.append(states[0])
        in_time = outputs[::-1] if backwards else outputs
        return Run(concat(in_time, 0), states)

    def _projected(self, direction: int, gates: int, *, linear: bool) -> Source:
        """Return the parts of every gate that depend only on the input, for all steps at once: [T,B,G*H].

        The input's bias is added, and the state's bias too unless `linear`.
        """
        size = self.node.operand(X).ranked.numbers[2]
        rows = self.steps * self.batch
        flat = reshaped(X, (1, rows, size))
        weights = transposed(self._part(W, direction), (1, size, gates))
        product = New("MatMul", (flat, weights), Shape((1, rows, gates)), FLOAT)
        projected: Source = reshaped(product, (self.steps, self.batch, gates))
        if self._has_bias():
            bias = self._bias(direction, 0, gates)
            if not linear:
                bias = New("Add", (bias, self._bias(direction, gates, gates)), Shape((1, gates)), FLOAT)
            sizes = (self.steps, self.batch, gates)
            projected = New("Add", (projected, reshaped(bias, (1, 1, gates))), Shape(sizes), FLOAT)
        return projected

    def _has_bias(self) -> bool:
        """Return whether the operator has a bias."""
        return optional_operand(self.node, B) is not None

    def _bias(self, direction: int, start: int, size: int) -> Source:
        """Return a part of the bias, [1,size]; zeros if the operator has no bias."""
        if not self._has_bias():
            return Numbers((0.0,) * size, (1, size), FLOAT)
        return sliced(self._part(B, direction), 1, start, start + size, (1, size))

    def _part(self, at: int, direction: int) -> Source:
        """Return the part of an operand for one direction, with the axis of directions: [1,..]."""
        if self.directions == 1:
            return at
        return sliced(at, 0, direction, direction + 1, (1, *self.node.operand(at).ranked.numbers[1:]))

    def _begun(self, at: int | None, direction: int) -> Source:
        """Return the initial state of a direction, [1,B,H]; zeros if `at` is None."""
        shape = (1, self.batch, self.hidden)
        return Numbers((0.0,) * (self.batch * self.hidden), shape, FLOAT) if at is None else self._part(at, direction)

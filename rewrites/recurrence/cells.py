"""One step of each recurrent ONNX operator, according to its formulas (https://onnx.ai/onnx/operators)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from graphfix.graph.edits import New, Numbers, Source
from graphfix.graph.view import Node
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Shape
from rewrites.recurrence.nodes import FLOAT, columns
from rewrites.recurrence.step import States, Step

DEFAULTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
)


def _lstm(step: Step, states: States) -> States:
    """Return the states after one step of an LSTM; gates are in the order input, output, forget, cell."""
    h, c = states
    f, g, last = step.activations
    sums = New("Add", (step.x, step.product(h)), Shape((*step.shape[:2], 4 * step.shape[2])), FLOAT)
    i, o, forget = (step.each(f, step.gate(sums, at)) for at in range(3))
    candidate = step.each(g, step.gate(sums, 3))
    c = step.each("Add", step.each("Mul", forget, c), step.each("Mul", i, candidate))
    return step.each("Mul", o, step.each(last, c)), c


def _gru(step: Step, states: States) -> States:
    """Return the state after one step of a GRU; gates are in the order update, reset, hidden.

    `step.bias` is only present if the reset gate is applied after the product.
    """
    (h,) = states
    f, g = step.activations
    if step.bias is None:
        part = step.product(h)
    else:
        gates = Shape((*step.shape[:2], 3 * step.shape[2]))
        part = New("Add", (step.product(h), step.bias), gates, FLOAT)
    z, r = (step.each(f, step.each("Add", step.gate(step.x, at), step.gate(part, at))) for at in range(2))
    if step.bias is None:
        reset: Source = step.product(step.each("Mul", r, h), 1)
    else:
        reset = step.each("Mul", r, step.gate(part, 2))
    candidate = step.each(g, step.each("Add", step.gate(step.x, 2), reset))
    kept = step.each("Sub", Numbers((1.0,), (1, 1, 1), FLOAT), z)
    return (step.each("Add", step.each("Mul", kept, candidate), step.each("Mul", z, h)),)


def _rnn(step: Step, states: States) -> States:
    """Return the state after one step of an RNN."""
    (h,) = states
    return (step.each(step.activations[0], step.each("Add", step.x, step.product(h))),)


@dataclass(frozen=True, slots=True)
class Cell:
    """A recurrent operator: its numbers of gates, states and new nodes, and the function that makes one step."""

    gates: int
    states: int
    nodes: int
    """The largest number of new nodes of one step."""
    step: Callable[[Step, States], States]

    def weights(self, node: Node, gate_weights: New, hidden: int) -> tuple[New, ...]:
        """Return the state's weights. They are split in two if a GRU applies the reset gate before the product."""
        if self is not CELLS["GRU"] or self.linear(node):
            return (gate_weights,)
        return columns(gate_weights, (1, hidden), hidden, 0, 2), columns(gate_weights, (1, hidden), hidden, 2, 3)

    def linear(self, node: Node) -> bool:
        """Return whether this is a GRU that applies the reset gate after the product (`linear_before_reset`).

        The bias of the state is then added before the reset gate is applied.
        """
        return bool(node.attributes.get("linear_before_reset", 0)) and self is CELLS["GRU"]


CELLS: Mapping[str, Cell] = MappingProxyType(
    {"LSTM": Cell(4, 2, 16, _lstm), "GRU": Cell(3, 1, 19, _gru), "RNN": Cell(1, 1, 4, _rnn)}
)
"""Operator of the standard domain -> its cell."""

"""The ONNX formulas of LSTM, GRU and RNN, one step after another, for float32 and constant sizes.

Source: the operators' specification in ONNX, for both directions and `linear_before_reset` 0 or 1. If the first file
has the operator and the second file has these nodes, both compute the same function. A formula does not define its
rounding, so the runs compare the results of each such operator within a bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.proof.onnx.definitions.formula_builder import Formula, Found
from graphfix.checker.proof.onnx.reading.types import dtype
from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.onnx.reading.operands import Call

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
"""The number of gates by operator. The weights contain the gates one after another."""
DEFAULTS = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
KNOWN = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}
OPERANDS = ("X", "W", "R", "B", "", "h", "c")
LENGTHS, PEEPHOLES = 4, 7
PLAIN = frozenset({"direction", "hidden_size", "linear_before_reset", "activations", "layout", "input_forget"})
"""The attributes that the formulas read."""
MOST_STEPS = 4096
RANK = 3
"""The rank of the input and of the weights."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of one LSTM, GRU or RNN: time steps, batch, input features, directions (1 or 2) and hidden size."""

    steps: int
    batch: int
    inputs: int
    directions: int
    hidden: int


def sizes_of(call: Call) -> Sizes | None:
    """Return the sizes of an LSTM, GRU or RNN that the formulas describe; None for any other node.

    Sequence lengths, peepholes, `layout` 1 and coupled gates are not described. All operands must be float32 of
    constant sizes above 0.
    """
    x, r = call.operand(0), call.operand(2)
    odd = call.operand(LENGTHS) is not None or call.operand(PEEPHOLES) is not None
    if x is None or r is None or odd or not call.attributes.keys() <= PLAIN:
        return None
    if call.integer("layout", 0) or call.integer("input_forget", 0):
        return None
    given = [view for view in call.views if view is not None]
    if any(dtype(view.core) != TensorProto.FLOAT or view.sizes is None for view in given):
        return None
    if not all(isinstance(size, int) and size for view in given for size in view.sizes or ()):
        return None
    if len(x.sizes or ()) != RANK or len(r.sizes or ()) != RANK:
        return None
    (steps, batch, inputs), (directions, _, hidden) = (
        [size for size in view.sizes or () if isinstance(size, int)] for view in (x, r)
    )
    found = Sizes(steps, batch, inputs, directions, hidden)
    return found if _fit(call, found) else None


def _fit(call: Call, sizes: Sizes) -> bool:
    """Return whether every operand has the shape that the specification defines."""
    gates = GATES[call.op] * sizes.hidden
    state = (sizes.directions, sizes.batch, sizes.hidden)
    wanted = {
        1: (sizes.directions, gates, sizes.inputs), 2: (sizes.directions, gates, sizes.hidden),
        3: (sizes.directions, 2 * gates), 5: state, 6: state,
    }  # fmt: skip
    return all(call.operand(at) is None or call.sizes(at) == shape for at, shape in wanted.items())


def activations_of(call: Call, directions: int) -> Sequence[str] | None:
    """Return the operators of the activations of all directions; None if one is missing or not in `KNOWN`."""
    attribute = call.attributes.get("activations")
    names = [each.decode(errors="replace").lower() for each in attribute.strings] if attribute is not None else []
    if not names:
        names = [each.lower() for each in DEFAULTS[call.op]] * 2
    if len(names) < len(DEFAULTS[call.op]) * directions:
        return None
    return [KNOWN[name] for name in names] if all(name in KNOWN for name in names) else None


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of an LSTM, GRU or RNN, written as nodes of `formula`.

    `at` is 0 or 1, and `backwards` is its time order.
    """

    formula: Formula
    call: Call
    sizes: Sizes
    at: int
    backwards: bool
    activations: Sequence[str]

    def run(self) -> tuple[list[str], tuple[str, ...]]:
        """Return the names of all outputs in time order, and the names of the last states, each [1,batch,hidden]."""
        write, gates = self.formula, GATES[self.call.op] * self.sizes.hidden
        linear = self.call.op == "GRU" and bool(self.call.integer("linear_before_reset", 0))
        projected = self._projected(gates, linear=linear)
        weights = write.add("Transpose", self._own("R"), perm=[0, 2, 1])
        bias = write.shaped(self._bias(gates, gates), 1, 1, gates) if linear else None
        states = tuple(self._begun(name) for name in ("h", "c")[: 2 if self.call.op == "LSTM" else 1])
        outputs = []
        order = range(self.sizes.steps)
        for step in reversed(order) if self.backwards else order:
            x = write.part(projected, 0, step, step + 1)
            states = STEPS[self.call.op](self, x, states, weights, bias)
            outputs.append(states[0])
        return outputs[::-1] if self.backwards else outputs, states

    def gate(self, name: str, at: int) -> str:
        """Return the name of the part of a value [..,..,gates * hidden] that belongs to the gate at index `at`."""
        return self.formula.part(name, 2, at * self.sizes.hidden, (at + 1) * self.sizes.hidden)

    def _projected(self, gates: int, *, linear: bool) -> str:
        """Return the name of the input's products with W for all steps, [steps,batch,gates], plus the bias.

        `gates` is the number of gates times the hidden size. If `linear`, only the bias of W is added. Otherwise both
        biases are.
        """
        write, sizes = self.formula, self.sizes
        flat = write.shaped("X", 1, sizes.steps * sizes.batch, sizes.inputs)
        product = write.add("MatMul", flat, write.add("Transpose", self._own("W"), perm=[0, 2, 1]))
        projected = write.shaped(product, sizes.steps, sizes.batch, gates)
        if self.call.operand(3) is None:
            return projected
        bias = self._bias(0, gates)
        if not linear:
            bias = write.add("Add", bias, self._bias(gates, gates))
        return write.add("Add", projected, write.shaped(bias, 1, 1, gates))

    def _bias(self, start: int, size: int) -> str:
        """Return the name of the part of the bias from `start` on, [1,size]; zeros if the node has no bias."""
        if self.call.operand(3) is None:
            return self.formula.floats(0.0, 1, size)
        return self.formula.part(self._own("B"), 1, start, start + size)

    def _own(self, name: str) -> str:
        """Return the name of this direction's part of an operand, whose axis 0 is the direction."""
        return name if self.sizes.directions == 1 else self.formula.part(name, 0, self.at, self.at + 1)

    def _begun(self, name: str) -> str:
        """Return the name of an initial state, [1,batch,hidden]; zeros if the operand is omitted."""
        if self.call.operand(OPERANDS.index(name)) is None:
            return self.formula.floats(0.0, 1, self.sizes.batch, self.sizes.hidden)
        return self._own(name)


def _lstm(direction: Direction, x: str, states: tuple[str, ...], weights: str, _: str | None) -> tuple[str, ...]:
    """Return the names of the output and cell state after one LSTM step. `x` is the projected input of the step."""
    add, (f, g, last), (h, c) = direction.formula.add, direction.activations, states
    sums = add("Add", x, add("MatMul", h, weights))
    i, o, forget = (add(f, direction.gate(sums, at)) for at in range(3))
    c = add("Add", add("Mul", forget, c), add("Mul", i, add(g, direction.gate(sums, 3))))
    return add("Mul", o, add(last, c)), c


def _gru(direction: Direction, x: str, states: tuple[str, ...], weights: str, bias: str | None) -> tuple[str, ...]:
    """Return the name of the state after one GRU step. `bias` is None unless `linear_before_reset` is 1."""
    add, (f, g), (h,), size = direction.formula.add, direction.activations, states, direction.sizes.hidden
    if bias is None:
        sums = add("MatMul", h, direction.formula.part(weights, 2, 0, 2 * size))
    else:
        sums = add("Add", add("MatMul", h, weights), bias)
    z, r = (add(f, add("Add", direction.gate(x, at), direction.gate(sums, at))) for at in range(2))
    if bias is None:
        hidden = add("MatMul", add("Mul", r, h), direction.formula.part(weights, 2, 2 * size, 3 * size))
    else:
        hidden = add("Mul", r, direction.gate(sums, 2))
    candidate = add(g, add("Add", direction.gate(x, 2), hidden))
    kept = add("Sub", direction.formula.floats(1.0, 1, 1, 1), z)
    return (add("Add", add("Mul", kept, candidate), add("Mul", z, h)),)


def _rnn(direction: Direction, x: str, states: tuple[str, ...], weights: str, _: str | None) -> tuple[str, ...]:
    """Return the name of the state after one RNN step."""
    add = direction.formula.add
    return (add(direction.activations[0], add("Add", x, add("MatMul", states[0], weights))),)


STEPS: Mapping[str, Callable[[Direction, str, tuple[str, ...], str, str | None], tuple[str, ...]]] = {
    "LSTM": _lstm, "GRU": _gru, "RNN": _rnn,
}  # fmt: skip


def formula_of(call: Call) -> Found | None:
    """Return the formula of an LSTM, GRU or RNN, with the names of its results and the values that it reads.

    Return None for an unsupported node, and for more than MOST_STEPS steps.

    The last states come before all outputs among the nodes. With one step, the output and the state are one value,
    which then gets the state's name.
    """
    sizes = sizes_of(call)
    activations = None if sizes is None else activations_of(call, sizes.directions)
    if sizes is None or activations is None or sizes.steps > MOST_STEPS:
        return None
    formula, per = Formula(), len(DEFAULTS[call.op])
    reverse = call.text("direction") == b"reverse"
    runs = [
        Direction(formula, call, sizes, at, reverse or at == 1, activations[at * per : (at + 1) * per]).run()
        for at in range(sizes.directions)
    ]
    states = [formula.add("Concat", *(last[at] for _, last in runs), axis=0) for at in range(len(runs[0][1]))]
    in_time = [formula.add("Concat", *outputs, axis=0) for outputs, _ in runs]
    each = [formula.shaped(outputs, sizes.steps, 1, sizes.batch, sizes.hidden) for outputs in in_time]
    names = [formula.add("Concat", *each, axis=1), *states]
    return formula, names, call.operands_by_name(*OPERANDS)

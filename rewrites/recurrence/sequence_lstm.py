"""The steps of a UNIDIRECTIONAL_SEQUENCE_LSTM, written with TFLite's operators.

Source: tensorflow/lite/kernels/lstm_eval.cc, the float kernel; gates in the order input, forget, cell, output.
"""

from __future__ import annotations

from graphfix.graph.edits import New, Numbers, Source, vector
from graphfix.graph.view import Node
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Shape

FLOAT = "float32"
GATES = 4
WEIGHTS, OF_STATE, BIASES = 1, 5, 12
"""The indices of the first gate's operands: input weights, state weights, bias. Those of the other gates follow."""
NODES = 29
"""The largest number of new nodes of one step."""
RANK = 3
BY_STATE = (("adj_x", False), ("adj_y", True))


@dataclass(frozen=True, slots=True)
class SequenceLstm:
    """A UNIDIRECTIONAL_SEQUENCE_LSTM of known sizes."""

    node: Node

    @property
    def in_time(self) -> bool:
        """Whether the axis of steps is before the batch axis."""
        return bool(self.node.attributes.get("time_major"))

    @property
    def steps(self) -> int:
        """The number of steps in time."""
        return self.node.operand(0).ranked.numbers[0 if self.in_time else 1]

    @property
    def nodes(self) -> int:
        """The largest number of new nodes for all steps."""
        return self.steps * NODES

    @property
    def state(self) -> tuple[int, ...]:
        """The sizes of a state with a leading unit axis: [1,B,H]."""
        batch = self.node.operand(0).ranked.numbers[1 if self.in_time else 0]
        return 1, batch, self.node.operand(OF_STATE).ranked.numbers[1]

    def run(self) -> New:
        """Return the new node whose result is the output of all steps, in the order of time."""
        zeros = Numbers((0.0,) * (self.state[1] * self.state[2]), self.state, FLOAT)
        h: Source = zeros
        c: Source = zeros
        outputs = []
        for step in range(self.steps):
            x = self._part(step)
            i, f, g, o = (self._gate(at, x, h) for at in range(GATES))
            c = self._each("ADD", self._each("MUL", f, c), self._each("MUL", i, g))
            h = self._each("MUL", o, self._each("TANH", c))
            outputs.append(h)
        axis, sizes = (
            (0, (self.steps, *self.state[1:])) if self.in_time else (1, (self.state[1], self.steps, self.state[2]))
        )
        parts = outputs if self.in_time else [_reshaped(part, (self.state[1], 1, self.state[2])) for part in outputs]
        return New("CONCATENATION", tuple(parts), Shape(sizes), FLOAT, (("axis", axis),))

    def _part(self, step: int) -> New:
        """Return the data of one step: [1,B,I]."""
        sizes = self.node.operand(0).ranked.numbers
        axis = 0 if self.in_time else 1
        begin = tuple(step if at == axis else 0 for at in range(RANK))
        cut = tuple(1 if at == axis else size for at, size in enumerate(sizes))
        part = New("SLICE", (0, vector(begin, "int32"), vector(cut, "int32")), Shape(cut), FLOAT)
        return part if self.in_time else _reshaped(part, (1, sizes[0], sizes[2]))

    def _gate(self, at: int, x: Source, h: Source) -> New:
        """Return the value of gate `at` for the data `x` and the state `h`: [1,B,H]."""
        both = self._each("ADD", self._by(WEIGHTS + at, x), self._by(OF_STATE + at, h))
        sums = self._each("ADD", both, _reshaped(BIASES + at, (1, 1, self.state[2])))
        return self._each("TANH" if at == GATES // 2 else "LOGISTIC", sums)

    def _by(self, weights: int, source: Source) -> New:
        """Return the product of a value with the weights in operand `weights`: [1,B,H]."""
        lifted = _reshaped(weights, (1, *self.node.operand(weights).ranked.numbers))
        return New("BATCH_MATMUL", (source, lifted), Shape(self.state), FLOAT, BY_STATE)

    def _each(self, op: str, *operands: Source) -> New:
        """Return a new element-wise node on states: [1,B,H]."""
        return New(op, operands, Shape(self.state), FLOAT)


def _reshaped(source: Source, sizes: tuple[int, ...]) -> New:
    return New("RESHAPE", (source, vector(sizes, "int32")), Shape(sizes), FLOAT, (("new_shape", sizes),))

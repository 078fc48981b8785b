"""The formula of a float32 UNIDIRECTIONAL_SEQUENCE_LSTM in the plain form: all steps, from states of zero.

The plain form has no peepholes, projection, layer normalization or clipping. Source:
tensorflow/lite/kernels/lstm_eval.cc. Gates are in the order input, forget, cell, output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.neutral import views
from graphfix.checker.proof.tflite.definitions.maker import Maker, UnreadError, Value

if TYPE_CHECKING:
    from graphfix.checker.files.tflite.records import Model, Operator, Subgraph
    from graphfix.checker.proof.tflite.reading.operands import Call

STATES = "every run begins with the states of UNIDIRECTIONAL_SEQUENCE_LSTM at zero, as after a reset of the variables"
GIVEN: Final = frozenset({*range(9), *range(12, 16), 18, 19})
"""The operands of the plain form: data, four weights for data, four weights for the state, four biases, two states."""
OPTIONS: Final = {"cellClip": 0.0, "projClip": 0.0, "fusedActivationFunction": 4, "diagonalRecurrentTensors": False}
"""The options of the plain form; 4 is TANH."""
CELL: Final = 2
"""The gate that applies TANH. The other gates apply LOGISTIC."""
RANK: Final = 3
MOST_STEPS: Final = 1024


def has_own_state(model: Model, graph: Subgraph, operator: Operator) -> bool:
    """Return whether an operator is an LSTM that runs once, and no other operator uses its states.

    The order of this operator among operators is then irrelevant.
    """
    if operator.name != "UNIDIRECTIONAL_SEQUENCE_LSTM" or graph is not model.subgraphs[0]:
        return False
    if any(at == 0 for each in model.subgraphs for other in each.operators for _, at in other.bodies):
        return False
    states = [at for at in operator.inputs if at >= 0 and graph.tensors[at].variable]
    read = [at for each in graph.operators for at in (*each.inputs, *each.outputs)] + [*graph.inputs, *graph.outputs]
    return all(read.count(at) == 1 for at in states)


def sequence_lstm(call: Call, make: Maker, x: Value) -> Value | None:
    """Return the outputs of all steps in the order of time; None if the operator does not have the plain form."""
    sizes, state = numbers(x.view.sizes or ()), numbers(call.sizes(18) or ())
    given = {at for at, tensor in enumerate(call.inputs) if tensor is not None}
    if given != GIVEN or any(_number(call, name) != value for name, value in OPTIONS.items()):
        return None
    if sizes is None or state is None or len(sizes) != RANK or len(state) != RANK - 1 or 0 in sizes:
        return None
    if any(tensor is not None and tensor.dtype != "float32" for tensor in call.inputs):
        return None
    first = bool(call.option("timeMajor"))
    steps, batch = (sizes[0], sizes[1]) if first else (sizes[1], sizes[0])
    if steps > MOST_STEPS or state[0] != batch:
        return None
    weights = [_lifted(make.operand(at)) for at in range(1, 9)]
    biases = [make.operand(at) for at in range(12, 16)]
    h = c = make.constant(np.zeros((1, batch, state[1]), np.float32))
    outputs = []
    for step in range(steps):
        part = _step(make, x, step, sizes, first=first)
        gates = []
        for at in range(4):
            products = (make("BATCH_MATMUL", part, weights[at]), make("BATCH_MATMUL", h, weights[4 + at]))
            sums = make("ADD", make("ADD", *products), biases[at])
            gates.append(make("TANH" if at == CELL else "LOGISTIC", sums))
        c = make("ADD", make("MUL", gates[1], c), make("MUL", gates[0], gates[CELL]))
        h = make("MUL", gates[3], make("TANH", c))
        outputs.append(h)
    if first:
        return make.exactly("CONCATENATION", outputs, (steps, batch, state[1]))
    turned = [_moved(output, (0,), 1) for output in outputs]
    return make.exactly("CONCATENATION", turned, (batch, steps, state[1]), axis=1)


def _number(call: Call, name: str) -> object:
    """Return a numeric option. Floats are stored as hexadecimal text."""
    given = call.option(name)
    return float.fromhex(given) if isinstance(given, str) else given


def _step(make: Maker, x: Value, step: int, sizes: tuple[int, ...], *, first: bool) -> Value:
    """Return the data of one step, with shape [1, batch, features].

    `first` is True if axis 0 of the data is the time.
    """
    axis = 0 if first else 1
    begin = np.array([step if at == axis else 0 for at in range(RANK)], np.int32)
    cut = tuple(1 if at == axis else size for at, size in enumerate(sizes))
    part = make.exactly("SLICE", [x, make.constant(begin), make.constant(np.array(cut, np.int32))], cut)
    return part if first else _moved(part, (1,), 0)


def _moved(value: Value, unit: tuple[int, ...], to: int) -> Value:
    """Return a value with its unit axis `unit` moved to position `to`."""
    without = views.squeezed(value.view, unit)
    made = None if without is None else views.unsqueezed(without, (to,))
    if made is None:
        raise UnreadError
    return Value(made, value.tensor)


def _lifted(value: Value) -> Value:
    """Return a value with a unit axis in front."""
    made = views.unsqueezed(value.view, (0,))
    if made is None:
        raise UnreadError
    return Value(made, value.tensor)

"""Write an LSTM, GRU or RNN of a known length as the operators of its steps (only with target tosa, or named).

    y[T,1,B,H], h, c = LSTM(x[T,B,I], w, r, b, , h0, c0)
    p = Add(MatMul(x, Transpose(w)), wb + rb)                                      all steps at once: [T,B,4H]
    i, o, f, g = the four parts of Add(Slice(p, step), MatMul(h, Transpose(r)))    step by step: [1,B,H] each
    c = Add(Mul(Sigmoid(f), c), Mul(Sigmoid(i), Tanh(g)))
    h = Mul(Sigmoid(o), Tanh(c))
    y = Unsqueeze(Concat(h of each step), 1)

No converter to TOSA writes loops. In many speech and text models, these operators are almost the only ones that can't
be converted. The formulas are those of the ONNX operators, in both directions, with `linear_before_reset` 0 or 1. In
TFLite they are those of UNIDIRECTIONAL_SEQUENCE_LSTM, whose states begin at 0 in every run, as after a reset of the
variables. The kernels of runtimes round in other places, so the rewrite is inexact. Runs of both models compare the
result of each such operator, which may differ by 1e-4 of its largest magnitude.

Sizes must be numbers. The steps may have at most 4096 new nodes: an LSTM of 64 steps has about 1,000, or 2,000 in
TFLite. These operators are not changed:

- in ONNX: sequence_lens, peepholes, clips, input_forget, layout 1, other activations than Sigmoid, Tanh and Relu, other
  types than float32
- in TFLite: projections, layer normalization, coupled gates, other activations than TANH, an operator in a body, and
  states that another operator reads
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, Leave, New, Replace
from graphfix.graph.view import Node, Value, optional_operand
from graphfix.operators.row import TFLITE
from graphfix.shapes.dim import Undecided
from rewrites.recurrence.cells import CELLS, DEFAULTS
from rewrites.recurrence.nodes import concat, unsqueezed
from rewrites.recurrence.plain_lstm import kept
from rewrites.recurrence.sequence_lstm import SequenceLstm
from rewrites.recurrence.step import Activations
from rewrites.recurrence.steps import Recurrence

ON = frozenset({("", op) for op in CELLS}) | {(TFLITE, "UNIDIRECTIONAL_SEQUENCE_LSTM")}
CODE, NOT_TAKEN = "GF304", "GF305"
MOST_NODES = 4096
SEQUENCE_LENS, INITIAL_H, INITIAL_C, PEEPHOLES = 4, 5, 6, 7
INEXACT = "it is rounded in other places than in the runtime's kernel: it may differ by 1e-4 of its largest magnitude"
WITHOUT = {"clip": None, "input_forget": 0, "layout": 0, "activation_alpha": None, "activation_beta": None}
"""Attributes that change the formulas, with the value that does not change them; None: absent."""
ACTIVATIONS = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of a recurrent operator by its steps, or the reason why it is not replaced.

    Raises Undecided if a size is not a number.
    """
    sequence = SequenceLstm(node) if node.domain == TFLITE else None
    why = _kept(node) if sequence is None else kept(node)
    if why is not None:
        yield Leave(None, why, NOT_TAKEN, "left", blocks=True)
        return
    values = [value for value in node.operands if value is not None]
    if free := dict.fromkeys(str(value) for value in values if not value.ranked.static):
        raise Undecided(f"the sizes of {', '.join(free)} are not all numbers")
    if sequence is not None:
        yield from _within(sequence.steps, sequence.nodes) or [Replace(sequence.run(), CODE, INEXACT)]
        return
    recurrence = Recurrence.of(node, _given(node, INITIAL_H), _given(node, INITIAL_C))
    if left := _within(recurrence.steps, recurrence.steps * CELLS[node.op].nodes * recurrence.directions):
        yield from left
        return
    runs = [recurrence.run(direction, _activations(node, direction)) for direction in range(recurrence.directions)]
    results: list[New] = [concat([unsqueezed(run.all, 1) for run in runs], 1)]
    results += [concat([run.last[at] for run in runs], 0) for at in range(len(runs[0].last))]
    used = [at for at, value in enumerate(node.results) if value is not None]
    yield Replace(results[0], CODE, INEXACT, tuple((at, results[at]) for at in used if at))


def _within(steps: int, count: int) -> list[Edit]:
    """Return the finding for steps that have too many nodes; empty if they have not."""
    if count <= MOST_NODES:
        return []
    why = f"its {steps} steps take {count} nodes, and {MOST_NODES} are the most: bind a shorter length"
    return [Leave(None, why, NOT_TAKEN, "left", blocks=True)]


def _given(node: Node, at: int) -> int | None:
    """Return the index of an operand if it is present, else None."""
    return None if optional_operand(node, at) is None else at


def _kept(node: Node) -> str | None:
    """Return why an ONNX operator is not unrolled, or None if its form is supported."""
    odd = [name for name, plain in WITHOUT.items() if node.attributes.get(name, plain) != plain]
    # An attribute without a value refers to an argument of a function call.
    odd += [name for name, value in node.attributes.items() if value is None]
    odd += [name for name, at in (("sequence_lens", SEQUENCE_LENS), ("P", PEEPHOLES)) if _given(node, at) is not None]
    if odd:
        return f"it is unrolled without {', '.join(odd)} alone"
    if node.results[0] is None:
        return "its first result is not named: only its last state is read"
    names = _named(node)
    unknown = [name for name in names if name not in ACTIVATIONS]
    if unknown:
        return f"it is unrolled with sigmoid, tanh and relu alone, not {unknown[0]}"
    first: Value = node.operand(0)
    return None if first.dtype == "float32" else f"it is unrolled in float32 alone, not {first.dtype}"


def _named(node: Node) -> list[str]:
    """Return the activations of all directions, in lower case."""
    given = node.attributes.get("activations")
    directions = 2 if _direction(node) == "bidirectional" else 1
    if not isinstance(given, tuple) or not given:
        return [name.lower() for name in DEFAULTS[node.op]] * directions
    return [str(each).lower() for each in given]


def _direction(node: Node) -> str:
    return str(node.attributes.get("direction", "forward"))


def _activations(node: Node, direction: int) -> Activations:
    """Return the activations of one direction, as names of operators."""
    names, count = _named(node), len(DEFAULTS[node.op])
    return tuple(ACTIVATIONS[name] for name in names[direction * count : (direction + 1) * count])

"""Read a TFLite model into terms: subgraphs, the bodies of control flow, and what each operator reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphfix.verify.proof import meeting
from graphfix.verify.proof.outcome import UnprovedError
from graphfix.verify.proof.terms import View, whole
from graphfix.verify.proof.tflite_file import WIDTHS
from graphfix.verify.proof.tflite_ops import CHOOSING, EACH, STATEFUL, UNARY
from graphfix.verify.proof.tflite_shapes import refined, shaped
from graphfix.verify.proof.tflite_views import MOVING, VIEWS, Step, parted, viewed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.verify.proof.constants import Constants
    from graphfix.verify.proof.sizes import Place, Sizes
    from graphfix.verify.proof.terms import Core, Table
    from graphfix.verify.proof.tflite_file import Model, Operator, Quantization, Subgraph, Tensor

_DEEPEST = 64
MATRIX = 2
READING = frozenset({*VIEWS, "PRELU", "SELECT", "BATCH_MATMUL"})
"""Operators with rules of their own, all without a state."""


@dataclass(slots=True, eq=False)
class Reading:
    """One of the two models while it is read."""

    table: Table
    constants: Constants
    model: Model
    first: bool
    effects: list[tuple[Core, Place]] = field(default_factory=list)
    turns: dict[object, int] = field(default_factory=dict)
    depth: int = 0

    def turn(self, key: object) -> int:
        """Tell apart what has one key and is not one: how many there were before."""
        count = self.turns[key] = self.turns.get(key, -1) + 1
        return count

    def run(self, index: int, given: Sequence[View]) -> tuple[View, ...]:
        """Read a subgraph with these values as its inputs; give its outputs. Raises UnprovedError."""
        if not 0 <= index < len(self.model.subgraphs) or self.depth > _DEEPEST:
            raise UnprovedError(f"there is no subgraph {index}, or it calls itself")
        graph = self.model.subgraphs[index]
        if len(given) != len(graph.inputs):
            raise UnprovedError(f"subgraph {index} has {len(graph.inputs)} inputs and is given {len(given)}")
        values: dict[int, View] = dict(zip(graph.inputs, given, strict=True))
        self.depth += 1
        for place, operator in enumerate(graph.operators):
            views = [self.value(graph, index, tensor, values) for tensor in operator.inputs]
            results = self._operator(graph, operator, views, f"{operator.name}#{place}")
            values.update(zip(operator.outputs, results, strict=False))
        self.depth -= 1
        outputs = [self.value(graph, index, tensor, values) for tensor in graph.outputs]
        return tuple(view for view in outputs if view is not None)

    def value(self, graph: Subgraph, index: int, at: int, values: dict[int, View]) -> View | None:
        """Give a tensor's value: computed, a constant, or a variable."""
        if at < 0:
            return None
        if at in values:
            return values[at]
        tensor = graph.tensors[at]
        if tensor.payload is not None or tensor.odd:
            values[at] = self._constant(tensor)
        elif tensor.variable:
            return self._variable(tensor, index, at)
        else:
            values[at] = self._empty(tensor)
        return values[at]

    def _variable(self, tensor: Tensor, index: int, at: int) -> View:
        """See what a variable holds now: another value after each operator that may write to one."""
        kind = (tensor.dtype, tensor.dims, tensor.stored, tensor.quantization)
        key = ("variable", index, at, kind, len(self.effects))
        core, new = self.table.core(key, f"variable {tensor.name!r}", counted=False)
        if new:
            core.sizes = self.table.named(core, tensor.dims)
        return whole(core)

    def _empty(self, tensor: Tensor) -> View:
        """A constant of no elements has no bytes; anything else is read before it is given."""
        if 0 not in tensor.stored:
            raise UnprovedError(f"the tensor {tensor.name!r} is read before any operator gives it; check the model")
        if tensor.stored == (0,) and tensor.dtype in ("int32", "int64"):
            return self.table.numbers((), tensor.dtype)
        core, new = self.table.core(("empty", tensor.dtype, tensor.stored), tensor.name, counted=False)
        if new:
            core.sizes = tensor.stored
        return whole(core)

    def _constant(self, tensor: Tensor) -> View:
        if tensor.payload is None:
            raise UnprovedError(f"the constant {tensor.name!r} is in another file, which is not read")
        if tensor.odd:
            return self.constants.odd((tensor.dtype, tensor.odd), tensor.stored, tensor.payload, tensor.name)
        axis = None if tensor.quantization is None else tensor.quantization.axis
        width = WIDTHS.get(tensor.dtype, 0)
        return self.constants.view(tensor.dtype, tensor.stored, tensor.payload, width, tensor.name, axis)

    # --- operators --------------------------------------------------------------------------------------------

    def _operator(self, graph: Subgraph, operator: Operator, views: Sequence[View | None], told: str) -> list[View]:
        bodies = self._bodies(operator, views)
        one = self._single(graph, operator, views, told) if bodies is None else None
        if one is not None:
            return [one]
        inputs = [graph.tensors[at] if at >= 0 else None for at in operator.inputs]
        if operator.name in ("SPLIT", "SPLIT_V"):
            steps = [Step(self.table, operator, views, inputs, graph.tensors[at], told) for at in operator.outputs]
            parts = [part for place, step in enumerate(steps) if (part := parted(step, len(steps), place)) is not None]
            if len(parts) == len(steps):
                return parts
        read = tuple(
            None if tensor is None else _quantized(tensor.quantization, view)
            for tensor, view in zip(inputs, views, strict=True)
        )
        stateful = self._stateful(graph, operator)
        given = tuple(_given(operator, graph.tensors[at]) for at in operator.outputs)
        key = ("whole", operator.key, operator.version, tuple(views), read, given, bodies, stateful)
        results = []
        for index, at in enumerate(operator.outputs):
            core, new = self.table.core((*key, index), told)
            if new:
                step = Step(self.table, operator, views, inputs, graph.tensors[at], told)
                core.sizes = self.table.named(core, refined(step, step.result.dims))
                self._stored()
            results.append(whole(core))
        if stateful is not None or not results:  # an operator that gives nothing is executed all the same
            core, _ = self.table.core((*key, "effect"), told)
            self.effects.append((core, self.table.algebra.place))
        return results

    def _stored(self) -> None:
        if self.first:
            self.table.assumes["the stored shapes of the first file's tensors"] = None

    def _stateful(self, graph: Subgraph, operator: Operator) -> int | None:
        """Number the operators whose result depends on what was done before."""
        if operator.name in STATEFUL or operator.name.startswith("custom "):
            return len(self.effects)
        pure = operator.name in EACH or operator.name in UNARY or operator.name in READING
        if not pure and any(at >= 0 and graph.tensors[at].variable for at in operator.inputs):
            return len(self.effects)
        return None

    def _bodies(self, operator: Operator, views: Sequence[View | None]) -> tuple[object, ...] | None:
        """Read the subgraphs that an operator runs: a branch on its operands, any other on values of its own."""
        if not operator.bodies:
            return None
        if operator.name == "IF":
            given = [view for view in views[1:] if view is not None]
            return tuple((key, self._body(at, given, ("if", views[0], key))) for key, at in operator.bodies)
        owner = (operator.key, tuple(views))
        turn = self.turn(owner)
        found: list[object] = []
        for key, at in operator.bodies:
            if not 0 <= at < len(self.model.subgraphs):
                raise UnprovedError(f"there is no subgraph {at}, which {operator.name} names")
            graph = self.model.subgraphs[at]
            # the condition and the body of a WHILE take one state
            what = "state" if operator.name == "WHILE" else key
            own = [self._parameter(graph, (owner, turn, what), place) for place in range(len(graph.inputs))]
            found.append((key, self._body(at, own, (owner, turn, key))))
        return tuple(found)

    def _body(self, at: int, given: Sequence[View], place: object) -> tuple[View, ...]:
        """Read a body; `place` tells when it is executed, alike in both files."""
        algebra = self.table.algebra
        around, algebra.place = algebra.place, (*algebra.place, place)
        results = self.run(at, given)
        algebra.place = around
        return results

    def _parameter(self, graph: Subgraph, owner: tuple[object, ...], place: int) -> View:
        tensor = graph.tensors[graph.inputs[place]]
        key = ("parameter", owner, place, tensor.dtype)
        core, new = self.table.core(key, f"input {place} of a body", counted=False)
        if new:
            core.sizes = self.table.named(core, tensor.dims)
            self._stored()
        return whole(core)

    def _single(self, graph: Subgraph, operator: Operator, views: Sequence[View | None], told: str) -> View | None:
        """Give the result of an operator with a rule of its own; None where its operands are read exactly."""
        if len(operator.outputs) != 1 or self._stateful(graph, operator) is not None:
            return None
        inputs = [graph.tensors[at] if at >= 0 else None for at in operator.inputs]
        step = Step(self.table, operator, views, inputs, graph.tensors[operator.outputs[0]], told)
        if operator.name not in MOVING or _keeps_quantization(step):
            seen = viewed(step)
            if seen is not None:
                return seen
        given = [view for view in views if view is not None]
        key = _key(step)
        if not given or len(given) < len(views) or key is None:
            return None
        if operator.name in CHOOSING and not shaped(step, given):
            return None
        return self._broadcast(step, key, given)

    def _broadcast(self, step: Step, key: tuple[object, ...], views: Sequence[View]) -> View | None:
        name = step.operator.name
        if name in EACH:
            return meeting.elementwise(self.table, key, views, step.told)
        if name in UNARY and len(views) == 1:
            return meeting.unary(self.table, key, views[0], step.told)
        if name == "PRELU" and len(views) == MATRIX:
            return meeting.onto(self.table, key, views[0], views[1:], step.told)
        if name == "SELECT":
            return self._select(step, key, views)
        if name == "BATCH_MATMUL" and len(views) == MATRIX:
            outer = (-1 if step.option("adjX") else -2, -2 if step.option("adjY") else -1)
            return meeting.product(self.table, key, (views[0], views[1]), (), step.told, outer=outer)
        return None

    def _select(self, step: Step, key: tuple[object, ...], views: Sequence[View]) -> View | None:
        """SELECT: the condition is a scalar, has the shape of the others, or follows their axis 0."""
        condition, one, two = views
        if condition.sizes is None or condition.axes is None or one.sizes is None or one.sizes != two.sizes:
            return None
        rank = len(one.sizes)
        if condition.sizes == one.sizes or not condition.sizes:
            axes = (None,) * (rank - len(condition.axes)) + condition.axes
        elif len(condition.sizes) == 1 and rank > 1 and condition.sizes[0] == one.sizes[0]:
            axes = (*condition.axes, *(None,) * (rank - 1))
        else:
            return None
        uses = [(condition.core, axes), (one.core, one.axes or ()), (two.core, two.axes or ())]
        return meeting.aligned(self.table, key, uses, one.sizes, step.told)


def _key(step: Step) -> tuple[object, ...] | None:
    """What an operator is, beside its operands' elements; None where an axis of scales is followed by no axis."""
    quantized = []
    for tensor, view in zip(step.inputs, step.views, strict=True):
        if tensor is None or view is None:
            return None
        told = _quantized(tensor.quantization, view)
        if (
            tensor.quantization is not None
            and tensor.quantization.axis is not None
            and (told is None or not isinstance(told[1], int))
        ):
            return None
        quantized.append(told)
    if step.result.quantization is not None and step.result.quantization.axis is not None:
        return None
    return (step.operator.key, step.operator.version, tuple(quantized), _type(step.result))


def _quantized(quantization: Quantization | None, view: View | None) -> tuple[object, object] | None:
    """Give the parameters, and the core's axis that the scales follow: a lift does not change it."""
    if quantization is None:
        return None
    axis = quantization.axis
    if axis is None:
        return quantization.key, None
    follows = view.axes[axis] if view is not None and view.axes is not None and 0 <= axis < len(view.axes) else None
    return quantization.key, ("stated", axis) if follows is None else follows


def _keeps_quantization(step: Step) -> bool:
    """Whether the result is quantized as operand 0 is, by whichever axis follows the same axis of the core."""
    tensor = step.inputs[0]
    ours = None if tensor is None else tensor.quantization
    theirs = step.result.quantization
    if ours is None or theirs is None:
        return ours is theirs
    return ours.key == theirs.key and ours.axis is None and theirs.axis is None


def _given(operator: Operator, tensor: Tensor) -> tuple[object, ...]:
    """What the file says of a result; some operators take its shape from there."""
    if operator.name in CHOOSING or operator.name.startswith(("STABLEHLO", "custom ")):
        return (*_type(tensor), tensor.dims, tensor.stored)
    return _type(tensor)


def _type(tensor: Tensor) -> tuple[object, ...]:
    quantization = tensor.quantization
    return tensor.dtype, None if quantization is None else (quantization.key, quantization.axis)


def sizes_of(table: Table, graph: Subgraph, index: int, place: int) -> Sizes | None:
    """Give the shape of an input; a free size is a symbol of its own."""
    tensor = graph.tensors[graph.inputs[place]]
    if tensor.dims is None:
        return None
    return tuple(
        table.algebra.symbol(("input", index, place, axis), f"{tensor.name}[{axis}]") if size is None else size
        for axis, size in enumerate(tensor.dims)
    )

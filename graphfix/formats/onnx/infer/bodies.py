"""Bodies: the types on which an If's branches agree, and the types that hold in every iteration of a Loop or Scan.

The inference is an induction: a shape that enters an iteration holds in all iterations if the body returns it. If the
body changes an axis (or the rank), that axis is widened to an unknown size, and the body is read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from graphfix.formats.onnx.file.messages import Step, declared
from graphfix.formats.onnx.file.tensors import elements_of
from graphfix.formats.onnx.infer.budget import Budget
from graphfix.formats.onnx.infer.call import NOTHING, Call, Results
from graphfix.formats.onnx.infer.scope import NOTHING_KNOWN, GraphScope, Known, Read, agreed
from graphfix.results.onnx_messages import GraphProto, TensorProto
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import UNKNOWN, UNRANKED, Dim, Parts, Shape, Size, is_symbol, same

ROUNDS = 12
"""The greatest number of readings of a body.

Afterwards, or if the budget is spent, the shapes of loop-carried values are unranked.
"""
SCANS_AXES_SINCE = 9
"""Before this operator set a Scan has an additional batch axis, and its body is not followed."""


@dataclass(slots=True)
class Carried:
    """A loop-carried value: the shape with which it enters the loop, and the axes that iterations change."""

    name: str
    returned: str
    """The output of the body that becomes this value in the next iteration."""
    entered: Shape
    dtype: int
    leans: bool
    changed: set[int] = field(default_factory=set)
    rank_changes: bool = False

    def entering_value(self, body: GraphScope) -> Known:
        """Return the facts about the value that hold in every iteration."""
        return Known(self.inside(body), self.dtype, leans=self.leans)

    def inside(self, body: GraphScope) -> Shape:
        """Return the shape that holds in every iteration. Sizes that change are named after the body's input."""
        if self.entered.axes is None or self.rank_changes:
            return Shape(None, (f"?{body.path}:{self.name}",))
        sizes = enumerate(self.entered.axes)
        return Shape(
            tuple([Dim((f"?{body.path}:{self.name}.{at}",)) if at in self.changed else size for at, size in sizes])
        )

    def outside(self) -> Shape | None:
        """Return the shape after the last iteration; None if its rank is unknown.

        Sizes that change are unknown there.
        """
        if self.entered.axes is None or self.rank_changes:
            return None
        return Shape(tuple([UNKNOWN if at in self.changed else size for at, size in enumerate(self.entered.axes)]))

    def widen(self, body: GraphScope) -> bool:
        """Compare the shape with the one that the body returns, and return whether an axis or the rank was widened."""
        if self.entered.axes is None or self.rank_changes:
            return False
        left = body.shape(self.returned)
        if left.axes is None or len(left.axes) != len(self.entered.axes):
            self.rank_changes = True
            return True
        pairs = enumerate(zip(self.entered.axes, left.axes, strict=True))
        changed = {at for at, sizes in pairs if not same(*sizes)} - self.changed
        self.changed |= changed
        return bool(changed)


def joined(bodies: Sequence[GraphScope]) -> Results:
    """Return an If's results: the shapes on which both branches agree. Different ranks make a result unranked."""
    outputs = [[body.shape(value.name) for value in body.graph.output] for body in bodies if body.graph is not None]
    return tuple([agreed(pair) for pair in zip(*outputs, strict=False)])


def loop(scope: GraphScope, step: Step, body: GraphScope, read: Read, budget: Budget) -> Results:
    """Return a Loop's results: the loop-carried values, then the scan outputs."""
    if body.graph is None:
        return NOTHING
    iteration, condition, names = _named(body.graph)
    returned = [value.name for value in body.graph.output][1:]
    carried = _carried(scope, names, returned, step.inputs[2:])
    fixed = {iteration: _iteration(body.graph), condition: Known(_condition(scope, step, body.graph), 0)}
    _iterate(body, carried, fixed, read, budget)
    runs, names_outside = _runs(scope, step), _names_of(value.entered for value in carried)
    scans = [_collected(body, name, names_outside, runs=runs) for name in returned[len(carried) :]]
    return (*[value.outside() for value in carried], *scans)


def _collected(body: GraphScope, name: str, names_outside: frozenset[Parts], *, runs: bool) -> Shape | None:
    """Return the shape of a scan output of a Loop. If the Loop may run no iteration, only declared sizes are kept.

    Without an iteration onnxruntime returns the sizes that the body declares.
    """
    axes, said = body.shape(name).axes, body.claims.get(name)
    if axes is None:
        return None
    if not runs:
        if said is not None and len(said) != len(axes):
            return None
        axes = tuple([size if said is not None and said[at] == size else UNKNOWN for at, size in enumerate(axes)])
    return Shape((UNKNOWN, *[_lasting(size, names_outside) for size in axes]))


def _runs(scope: GraphScope, step: Step) -> bool:
    """Return whether a Loop certainly has an iteration.

    Its trip count must be at least 1, and its condition true or absent.
    """
    count, condition = [*step.inputs[:2], "", ""][:2]
    elements = scope.vector(count) if count else None
    if not elements or not _is_positive(elements[0]):
        return False
    return not condition or _is_true(scope.tensor(condition))


def _is_positive(size: Size) -> bool:
    """Return whether a size is at least 1: a number, or an axis of an input whose range is stated."""
    return size >= 1 if isinstance(size, int) else is_symbol(size.parts) and size.lo >= 1


def _is_true(tensor: TensorProto | None) -> bool:
    """Return whether a constant is one truth value, and true."""
    if tensor is None or tensor.data_type != TensorProto.BOOL or tensor.data_location == TensorProto.EXTERNAL:
        return False
    return elements_of(tensor) == (True,)


def _named(graph: GraphProto) -> tuple[str, str, list[str]]:
    """Return the names of the iteration number, of the condition, and of the loop-carried values inside the body."""
    iteration, condition, *names = [*[value.name for value in graph.input], "", ""][: max(2, len(graph.input))]
    return iteration, condition, names


def _iteration(graph: GraphProto) -> Known:
    """Return the facts about the iteration number.

    onnxruntime gives it the rank that the body declares; else it is unknown.
    """
    said = declared(graph.input[0]) if graph.input else None
    return NOTHING_KNOWN if said is None else Known(Shape((1,) * len(said)), TensorProto.INT64)


def _condition(scope: GraphScope, step: Step, graph: GraphProto) -> Shape | None:
    """Return the shape of the condition inside the body; None unless it is certainly a scalar.

    onnxruntime gives the condition the rank that the body declares.
    """
    given = scope.shape(step.inputs[1]) if len(step.inputs) > 1 and step.inputs[1] else None
    said = declared(graph.input[1]) if len(graph.input) > 1 else None
    return given if given is not None and given.axes == () and said in (None, ()) else None


def _names_of(shapes: Iterable[Shape | None]) -> frozenset[Parts]:
    """Return the names of sizes of values that enter a loop: these sizes are the same in each iteration."""
    sizes = (size for shape in shapes if shape is not None for size in shape.axes or ())
    return frozenset(size.parts for size in sizes if isinstance(size, Dim) and size.parts)


def _lasting(size: Size, names_outside: frozenset[Parts]) -> Size:
    """Return a size inside a body as a size of the stacked result. A name from inside may differ in each iteration."""
    return size if isinstance(size, int) or size.parts in names_outside else UNKNOWN


def scan(scope: GraphScope, step: Step, call: Call, body: GraphScope, read: Read, budget: Budget) -> Results:
    """Return a Scan's results: the states, then the stacked outputs."""
    if body.graph is None or call.version < SCANS_AXES_SINCE:
        read(body, {})
        return NOTHING
    names, returned = [value.name for value in body.graph.input], [value.name for value in body.graph.output]
    count = len(step.inputs) - call.number("num_scan_inputs", 0)
    carried = _carried(scope, names[:count], returned, step.inputs[:count])
    axes = call.list("scan_input_axes") or (0,) * (len(step.inputs) - count)
    length: Size = UNKNOWN
    fixed: dict[str, Known] = {}
    for name, operand, axis in zip(names[count:], step.inputs[count:], axes, strict=False):
        dims = scope.shape(operand).axes
        fixed[name] = Known(None, scope.dtype(operand), leans=scope.leans(operand))
        if dims is not None and -len(dims) <= axis < len(dims):
            at = axis % len(dims)
            fixed[name] = replace(fixed[name], shape=Shape((*dims[:at], *dims[at + 1 :])))
            length = dims[at]
    _iterate(body, carried, fixed, read, budget)
    places = call.list("scan_output_axes") or (0,) * (len(returned) - count)
    entering = [*(value.entered for value in carried), *(fixed_value.shape for fixed_value in fixed.values())]
    names_outside = _names_of(entering if _is_positive(length) else ())
    shapes = [body.shape(name).axes for name in returned[count:]]
    stacked = [_stacked(axes, length, at, names_outside) for axes, at in zip(shapes, places, strict=False)]
    return (*[value.outside() for value in carried], *stacked)


def _stacked(axes: tuple[Size, ...] | None, length: Size, place: int, names_outside: frozenset[Parts]) -> Shape | None:
    """Return the shape of a Scan's stacked output, or None."""
    if axes is None or not -len(axes) - 1 <= place <= len(axes):
        return None
    at = place % (len(axes) + 1)
    sizes = [_lasting(size, names_outside) for size in axes]
    return Shape((*sizes[:at], length, *sizes[at:]))


def _carried(
    scope: GraphScope, names: Sequence[str], returned: Sequence[str], operands: Iterable[str]
) -> list[Carried]:
    """Return the loop-carried values of a body."""
    return [
        Carried(name, back, scope.shape(operand), scope.dtype(operand), scope.leans(operand))
        if operand
        else Carried(name, back, UNRANKED, 0, leans=False)
        for name, back, operand in zip(names, returned, operands, strict=False)
    ]


def _iterate(
    body: GraphScope, carried: Sequence[Carried], fixed: Mapping[str, Known], read: Read, budget: Budget
) -> None:
    """Read the body until it returns the shapes that entered it.

    After `ROUNDS` readings, or if the budget is spent, it is read once more with unranked loop-carried values.
    """
    for left in range(ROUNDS, -1, -1):
        if not left or not budget.allows(len(body.steps)):
            for value in carried:
                value.rank_changes = True
        read(body, {**fixed, **{value.name: value.entering_value(body) for value in carried}})
        widened = [value.widen(body) for value in carried]
        if not any(widened):
            return


def element_types(op: str, body: GraphScope) -> list[int]:
    """Return the element types of the results of a node with bodies, as its first body returns them."""
    if body.graph is None or op not in ("If", "Loop", "Scan"):
        return []
    returned = [body.dtype(value.name) for value in body.graph.output]
    return returned[1:] if op == "Loop" else returned

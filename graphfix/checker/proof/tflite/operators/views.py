"""TFLite's view operators: they are read as maps, and are no terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.files.tflite.records import NARROW
from graphfix.checker.proof.core.terms import View, integer_type
from graphfix.checker.proof.neutral import broadcast, views
from graphfix.checker.proof.tflite.operators.integer_values import ALIKE, COUNTING, INTEGER_VALUES, RETYPING
from graphfix.checker.proof.tflite.operators.shapes import reshape_target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.files.tflite.records import Operator
    from graphfix.checker.proof.core.sizes import Sizes
    from graphfix.checker.proof.tflite.reading.operands import Call

STRETCHING = 2
"""Operands of BROADCAST_TO."""


def viewed(call: Call) -> View | None:
    """Return an operator's view of operand 0, or the integers that it computes; None where it is a term."""
    rule = VIEWS.get(call.operator.name)
    if rule is None or not call.views or call.views[0] is None:
        return None
    if call.operator.name in COUNTING and integer_type(call.views[0]) is None:
        return None  # most sums are of elements that nobody knows
    taking = call.inputs if call.operator.name in ALIKE else call.inputs[:1]
    if call.operator.name not in RETYPING and any(each is None or each.dtype != call.result.dtype for each in taking):
        return None
    return rule(call)


def _reshape(call: Call) -> View | None:
    view, target = call.views[0], reshape_target(call)
    if view is None or target is None:
        return None
    content = call.content(0)
    if content is not None and target in ((-1,), (len(content),)):
        return call.result_integers(content)
    return views.reshaped(view, target, zero_copies=False)


def _expand_dims(call: Call) -> View | None:
    axes = call.known_integers(1)
    if call.views[0] is None or axes is None or len(axes) != 1:
        return None
    return views.unsqueezed(call.views[0], axes)


def _squeeze(call: Call) -> View | None:
    axes = call.option("squeezeDims")
    if call.views[0] is None:
        return None
    given = axes if isinstance(axes, tuple) and axes else None
    gone = views.unit_axes(call.table.arithmetic, call.views[0].sizes) if given is None else given
    return None if gone is None else views.squeezed(call.views[0], gone)


def _broadcast_to(call: Call) -> View | None:
    view, target = call.views[0], call.target(1)
    if view is None or target is None or call.result.dtype in NARROW:
        return None  # of less than a byte the kernel moves other bits than elements
    return _onto(call, view, target)


def _onto(call: Call, view: View, target: Sizes) -> View | None:
    """Stretch one way to a shape; where the operand may not fit it, that is a term."""
    seen = views.broadcast_to(call.table.algebra, view, target)
    return seen if seen is not None else broadcast.onto_target(call.table, view, target, call.description)


def lifted(view: View, rank: int) -> View:
    """See a value with unit axes in front, up to a rank."""
    missing = 0 if view.sizes is None else rank - len(view.sizes)
    return views.unsqueezed(view, range(missing)) or view if missing > 0 else view


def _tile(call: Call) -> View | None:
    repeats = call.vector(1)
    if call.views[0] is None or repeats is None:
        return None
    call.table.arithmetic.need(repeats)
    return views.tiled(call.views[0], repeats)


def _broadcast_in_dim(call: Call) -> View | None:
    view, dims, to = call.views[0], call.option("broadcastDimensions"), call.result.dims
    if view is None or view.axes is None or view.sizes is None or not isinstance(dims, tuple) or to is None:
        return None
    sizes = tuple(size for size in to if size is not None)
    if not len(set(dims)) == len(dims) == len(view.axes) or len(sizes) < len(to):
        return None
    if not all(0 <= axis < len(to) for axis in dims):
        return None
    follows = dict(zip(dims, zip(view.axes, view.sizes, strict=True), strict=True))
    pairs = [follows.get(axis, (None, 1)) for axis in range(len(to))]
    return _onto(call, View(view.core, tuple(axis for axis, _ in pairs), tuple(size for _, size in pairs)), sizes)


VIEWS: Mapping[str, Callable[[Call], View | None]] = {
    **INTEGER_VALUES,
    "RESHAPE": _reshape, "EXPAND_DIMS": _expand_dims, "SQUEEZE": _squeeze, "BROADCAST_TO": _broadcast_to,
    "TILE": _tile, "STABLEHLO_BROADCAST_IN_DIM": _broadcast_in_dim,
}  # fmt: skip
MOVING = frozenset({"RESHAPE", "EXPAND_DIMS", "SQUEEZE", "BROADCAST_TO", "TILE", "STABLEHLO_BROADCAST_IN_DIM"})
"""Operators that move elements: the result is quantized as the operand is, or it is no view."""


def ranked(operator: Operator, views: Sequence[View | None]) -> Sequence[View | None]:
    """Lift what a BROADCAST_TO stretches to the rank of its target, whose elements need not be known."""
    if operator.name != "BROADCAST_TO" or len(views) != STRETCHING or None in views:
        return views
    view, target = (view for view in views if view is not None)
    length = target.sizes
    if length is None or len(length) != 1 or not isinstance(length[0], int):
        return views
    return lifted(view, length[0]), target

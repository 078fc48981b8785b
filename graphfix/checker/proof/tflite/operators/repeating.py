"""Rules of BROADCAST_TO, TILE, STABLEHLO_BROADCAST_IN_DIM, FILL and BROADCAST_ARGS, which repeat elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphfix.checker.files.tflite.records import NARROW
from graphfix.checker.proof.core.terms import ProofValue
from graphfix.checker.proof.neutral import broadcast, views
from graphfix.checker.proof.tflite.operators.entry import Integers, Rules, asked_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.files.tflite.records import Operator
    from graphfix.checker.proof.core.sizes import Dims, Sizes
    from graphfix.checker.proof.neutral.constants import Constants
    from graphfix.checker.proof.tflite.reading.operands import Call

_OPERANDS: Final = 2
"""The number of operands of BROADCAST_TO."""


def _broadcast_to(call: Call) -> ProofValue | None:
    """Return the result of a BROADCAST_TO; None for an unknown target shape, and for elements of less than a byte."""
    view, target = call.views[0], call.target(1)
    if view is None or target is None or call.result.dtype in NARROW:
        return None  # For elements of less than a byte, the kernel moves bits that are not whole elements.
    return _onto(call, view, target)


def _onto(call: Call, view: ProofValue, target: Sizes) -> ProofValue | None:
    """Return operand 0 stretched to the shape `target`.

    The result is a separate term if the operand may not fit the shape.
    """
    seen = views.broadcast_to(call.table.algebra, view, target)
    return seen if seen is not None else broadcast.onto_target(call.table, view, target, call.description)


def ranked(operator: Operator, views: Sequence[ProofValue | None]) -> Sequence[ProofValue | None]:
    """Return the operands of a BROADCAST_TO with operand 0 lifted to the rank of the target.

    Only the length of the target must be known, not its elements. Operands of other operators are returned unchanged.
    """
    if operator.name != "BROADCAST_TO" or len(views) != _OPERANDS or None in views:
        return views
    view, target = (view for view in views if view is not None)
    length = target.sizes
    if length is None or len(length) != 1 or not isinstance(length[0], int):
        return views
    return _lifted(view, length[0]), target


def _lifted(view: ProofValue, rank: int) -> ProofValue:
    """Return a value with unit axes added in front, up to the rank `rank`."""
    missing = 0 if view.sizes is None else rank - len(view.sizes)
    return views.unsqueezed(view, range(missing)) or view if missing > 0 else view


def _broadcast_in_dim(call: Call) -> ProofValue | None:
    """Return the result of a STABLEHLO_BROADCAST_IN_DIM.

    Axis i of the operand becomes axis `broadcastDimensions[i]`.
    """
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
    return _onto(call, ProofValue(view.core, tuple(axis for axis, _ in pairs), tuple(size for _, size in pairs)), sizes)


def _tile_sizes(call: Call) -> Dims:
    """Return the sizes of a TILE: each size times its number of repeats."""
    sizes, repeats = call.sizes(0), call.target(1)
    if sizes is None or repeats is None or len(sizes) != len(repeats):
        return None
    return tuple(map(call.table.arithmetic.mul, sizes, repeats))


def _tile_view(call: Call) -> ProofValue | None:
    """Return the result of a TILE that repeats only axes of size 1. The proof requires that no repeat is negative."""
    repeats = call.vector(1)
    if call.views[0] is None or repeats is None:
        return None
    call.table.arithmetic.require_not_negative(repeats)
    return views.tiled(call.views[0], repeats)


def _filled(_: Constants, call: Call) -> ProofValue | None:
    """Return the one element of a FILL, stretched to known sizes."""
    sizes, value = call.vector(0), call.operand(1)
    if len(call.inputs) != 2 or call.inputs[1] is None or call.inputs[1].dtype != call.result.dtype:  # noqa: PLR2004
        return None
    if sizes is None or value is None or value.sizes != () or any(isinstance(s, int) and s < 1 for s in sizes):
        return None
    call.table.arithmetic.require_not_negative(sizes)
    return ProofValue(value.core, (None,) * len(sizes), sizes)


def _broadcast_args(call: Call) -> ProofValue | None:
    """Return the shape to which two shapes broadcast, as known integers."""
    one, two = call.target(0), call.target(1)
    if one is None or two is None:
        return None
    return call.result_integers(call.table.algebra.broadcast_shape(one, two))


OPERATORS: Final[Mapping[str, Rules]] = {
    "BROADCAST_TO": Rules(sizes=asked_sizes(1), view=_broadcast_to),
    "STABLEHLO_BROADCAST_IN_DIM": Rules(view=_broadcast_in_dim),
    "TILE": Rules(sizes=_tile_sizes, view=_tile_view),
    "FILL": Rules(sizes=asked_sizes(0), built=_filled),
    "BROADCAST_ARGS": Rules(integers=Integers(_broadcast_args, one_type=True)),
}

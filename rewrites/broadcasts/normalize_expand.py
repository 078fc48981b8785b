"""Write an existing Expand or Tile as a lift and an Expand of the same rank to the full shape.

    Expand(x[4], [2,3,4])          ->  Expand(x[1,1,4], [2,3,4])
    Expand(x[2,1,4], [3,1])        ->  Expand(x[2,1,4], [2,3,4])
    Tile(x[1,4], repeats=[3,1])    ->  Expand(x[1,4], [3,4])     from operator set 8 on
    Expand(x[2,4], [2,4])          ->  x

ONNX's Expand works in both directions, and a 1 in its shape means "keep". Some tool chains read one of these two facts
wrongly. A Tile that repeats an axis of more than one element is not a broadcast, so it stays. An Expand that provably
does nothing is removed, unless its result is an output of the graph, or its shape is computed from sizes that may not
fit. If the shape is computed when the model runs, only the rank of the operand is changed.

TFLite writes a stretch as TILE or as BROADCAST_TO, whose shape is used literally. Neither is replaced by the other
here:

    BROADCAST_TO(x[4], [2,3,4])    ->  BROADCAST_TO(x[1,1,4], [2,3,4])
    BROADCAST_TO(x[2,4], [2,4])    ->  x
    TILE(x[2,4], [1,1])            ->  x

StableHLO's operator lists the axes of the result that the operand's axes follow. Unit axes in the other places turn it
into an ordinary stretch. If the listed axes are not in ascending order, the operator also transposes, so it is not
changed, and is reported:

    STABLEHLO_BROADCAST_IN_DIM(x[2,4], broadcast_dimensions=[0,2])  ->  TILE(x[2,1,4], [1,3,1])    y[2,3,4]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from graphfix import operators
from graphfix.graph.edits import Canonicalize, Edit, Fold, Leave, Lift
from graphfix.graph.view import Node
from graphfix.operators.row import StretchForm
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Shape, Undecided
from graphfix.shapes.shape import cstr_broadcastable, same_shape, with_axes

ON = frozenset((form.domain, form.op) for form in operators.stretch_forms())
CODE = "GF202"


@dataclass(frozen=True, slots=True)
class WrittenStretch:
    """The meaning of a node that is a stretch, independent of the operator that writes it."""

    axes: Sequence[int]
    """For each axis of the operand, the axis of the result that it follows."""
    no_op: bool
    """Whether the node provably does nothing, except that it may lift."""
    canonicalize: bool
    """Whether the node must be replaced, because it is not written as the format's ordinary, full stretch."""


def plan(node: Node) -> Iterator[Edit]:
    """Yield edits that lift the operand, write the shape in full, or remove the node."""
    form = operators.stretch_form(node.domain, node.op)
    result = node.results[0] if node.results else None
    read = 1 if form is not None and form.by == "axes" else 2
    if form is None or result is None or len(node.operands) < read or None in node.operands[:read]:
        return  # The file is broken: a runtime refuses the node.
    to = result.ranked
    reader = {"shape": _by_shape, "repeats": _by_repeats, "axes": _by_axes}[form.by]
    stretch = reader(node, to, form)
    if stretch is None:
        return
    if any(after <= before for before, after in pairwise(stretch.axes)):
        order = ",".join(map(str, stretch.axes))
        yield Leave(0, f"its axes follow axes {order} of the result: it transposes them as well", CODE, "left")
        return
    if stretch.canonicalize and not (stretch.no_op or to.static):
        raise Undecided(f"the sizes of {to}, which it is stretched to, are not all known")
    new = tuple(axis for axis in range(to.rank) if axis not in stretch.axes)
    if new:
        yield Lift(0, new, CODE)
    if stretch.no_op:
        is_output = result in node.graph.outputs
        yield Leave(0, "its result is an output of the graph", "GF203") if is_output else Fold()
    elif stretch.canonicalize:
        yield Canonicalize(to)


def _by_shape(node: Node, to: Shape, form: StretchForm) -> WrittenStretch | None:
    """Return the meaning of a node whose operand 1 is the requested shape, right-aligned."""
    missing = to.rank - node.operand(0).ranked.rank
    lifted = with_axes(node.operand(0).shape, range(missing))
    no_op = same_shape(lifted, to) and _fits(lifted, node.operand(1).content, form)
    no_op = no_op and not (missing and node.results[0] in node.graph.outputs)
    target = node.operand(1).literal
    other = form.two_way and target is not None and to.static and target != to.dims
    return WrittenStretch(range(missing, to.rank), no_op, other)


def _fits(lifted: Shape, target: Shape | None, form: StretchForm) -> bool:
    """Return whether the requested shape certainly agrees with the operand's; if it may not, the node may fail."""
    if target is None or not target.ranked:
        return False
    return cstr_broadcastable(lifted, target) is True if form.two_way else same_shape(lifted, target)


def _by_repeats(node: Node, to: Shape, form: StretchForm) -> WrittenStretch | None:
    """Return the meaning of a node whose operand 1 has one factor per axis; None if the factors are not known.

    The node is a stretch if only axes of size 1 are repeated.
    """
    shape, repeats = node.operand(0).ranked, node.operand(1).literal
    if repeats is None or len(repeats) != shape.rank:
        return None
    stretches = all(repeat == 1 or size == 1 for size, repeat in zip(shape.dims, repeats, strict=True))
    no_op = all(repeat == 1 for repeat in repeats)
    return WrittenStretch(range(to.rank), no_op, stretches and to.static and not form.is_standard(node.version))


def _by_axes(node: Node, to: Shape, _: StretchForm) -> WrittenStretch | None:
    """Return the meaning of a stretch with `broadcast_dimensions`: for each operand axis, an axis of the result.

    Only an ordinary stretch can express lifted axes, so the node is always replaced. Raises Undecided for invalid axes.
    """
    declared = node.attributes.get("broadcast_dimensions", ())
    axes = [axis for axis in declared if isinstance(axis, int)] if isinstance(declared, Sequence) else []
    shape = node.operand(0).ranked
    if len(axes) != shape.rank or not all(0 <= axis < to.rank for axis in axes):
        raise Undecided(f"its broadcast_dimensions do not name an axis of {to} for each axis of its operand")
    new = [axis for axis in range(to.rank) if axis not in axes]
    no_op = axes == sorted(set(axes)) and same_shape(with_axes(shape, new), to)
    return WrittenStretch(axes, no_op and node.results[0] not in node.graph.outputs, canonicalize=True)

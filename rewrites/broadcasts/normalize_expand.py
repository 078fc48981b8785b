"""Write an Expand or Tile that the model already has as a lift and a same-rank Expand to the full shape.

    Expand(x[4], [2,3,4])          ->  Expand(x[1,1,4], [2,3,4])
    Expand(x[2,1,4], [3,1])        ->  Expand(x[2,1,4], [2,3,4])
    Tile(x[1,4], repeats=[3,1])    ->  Expand(x[1,4], [3,4])     from operator set 8 on
    Expand(x[2,4], [2,4])          ->  x

ONNX's Expand is two-directional, and a 1 in its shape means "keep": tool chains read one or the other wrongly. A Tile
that repeats an axis of more than one element is no broadcast and stays. An Expand that provably does nothing goes,
unless its result is an output of the graph, or its shape is computed from sizes that may not fit. Where the shape is
computed when the model runs only the rank is made equal.

TFLite writes a stretch as TILE or as BROADCAST_TO, whose shape is taken literally; both stay what they are:

    BROADCAST_TO(x[4], [2,3,4])    ->  BROADCAST_TO(x[1,1,4], [2,3,4])
    BROADCAST_TO(x[2,4], [2,4])    ->  x
    TILE(x[2,4], [1,1])            ->  x

StableHLO's operator names the axes of the result that the operand's axes follow. Unit axes at the others make it an
ordinary stretch; where the axes are not in order it transposes too, and is left:

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
    """What a node that is a stretch says."""

    axes: Sequence[int]
    """The axes of the result that the operand's axes follow, one for each."""
    no_op: bool
    """Whether it provably does nothing but lift."""
    canonicalize: bool
    """Whether it is another form than the format's own stretch."""


def plan(node: Node) -> Iterator[Edit]:
    """Lift the operand, state the shape in full, or fold the node away."""
    form = operators.stretch_form(node.domain, node.op)
    result = node.results[0] if node.results else None
    read = 1 if form is not None and form.by == "axes" else 2
    if form is None or result is None or len(node.operands) < read or None in node.operands[:read]:
        return  # a broken file: the runtime refuses the node
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
    """Operand 1 is the target's shape, right-aligned."""
    missing = to.rank - node.operand(0).ranked.rank
    lifted = with_axes(node.operand(0).shape, range(missing))
    no_op = same_shape(lifted, to) and _fits(lifted, node.operand(1).content, form)
    no_op = no_op and not (missing and node.results[0] in node.graph.outputs)
    target = node.operand(1).literal
    other = form.two_way and target is not None and to.static and target != to.dims
    return WrittenStretch(range(missing, to.rank), no_op, other)


def _fits(lifted: Shape, target: Shape | None, form: StretchForm) -> bool:
    """Whether the target's sizes agree with the operand's for certain: where they may not, the node is what fails."""
    if target is None or not target.ranked:
        return False
    return cstr_broadcastable(lifted, target) is True if form.two_way else same_shape(lifted, target)


def _by_repeats(node: Node, to: Shape, form: StretchForm) -> WrittenStretch | None:
    """Operand 1 is one factor an axis; it is a stretch where only axes of size 1 are repeated."""
    shape, repeats = node.operand(0).ranked, node.operand(1).literal
    if repeats is None or len(repeats) != shape.rank:
        return None
    stretches = all(repeat == 1 or size == 1 for size, repeat in zip(shape.dims, repeats, strict=True))
    no_op = all(repeat == 1 for repeat in repeats)
    return WrittenStretch(range(to.rank), no_op, stretches and to.static and not form.is_standard(node.version))


def _by_axes(node: Node, to: Shape, _: StretchForm) -> WrittenStretch | None:
    """`broadcast_dimensions` names the axes that are followed; only the stretch that it becomes can say lifted ones."""
    declared = node.attributes.get("broadcast_dimensions", ())
    axes = [axis for axis in declared if isinstance(axis, int)] if isinstance(declared, Sequence) else []
    shape = node.operand(0).ranked
    if len(axes) != shape.rank or not all(0 <= axis < to.rank for axis in axes):
        raise Undecided(f"its broadcast_dimensions do not name an axis of {to} for each axis of its operand")
    new = [axis for axis in range(to.rank) if axis not in axes]
    no_op = axes == sorted(set(axes)) and same_shape(with_axes(shape, new), to)
    return WrittenStretch(axes, no_op and node.results[0] not in node.graph.outputs, canonicalize=True)

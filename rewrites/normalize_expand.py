"""Write an Expand or Tile that the model already has as a lift and a same-rank Expand to the full shape.

    Expand(x[4], [2,3,4])          ->  Expand(x[1,1,4], [2,3,4])
    Expand(x[2,1,4], [3,1])        ->  Expand(x[2,1,4], [2,3,4])
    Tile(x[1,4], repeats=[3,1])    ->  Expand(x[1,4], [3,4])
    Expand(x[2,4], [2,4])          ->  x

ONNX's Expand is two-directional, and a 1 in its shape means "keep": tool chains read one or the other wrongly. A Tile
that repeats an axis of more than one element is no broadcast and stays. An Expand that provably does nothing goes,
unless its result is an output of the graph, or its shape is computed from sizes that may not fit. Where the shape is
computed when the model runs only the rank is made equal.

TFLite spells a stretch as TILE or as BROADCAST_TO, whose shape is taken literally; both stay what they are:

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
from graphfix.graph.edits import DEFAULT, Edit, Fold, Leave, Lift, Options, Spell, with_axes
from graphfix.graph.view import Node
from graphfix.shapes.shape import Shape, Undecided, cstr_broadcastable, same

OPERATORS = frozenset((spelling.domain, spelling.op) for spelling in operators.spellings())


def plan(node: Node, options: Options = DEFAULT) -> Iterator[Edit]:  # noqa: ARG001 -- every plan takes the options
    """Lift the operand, state the shape in full, or fold the node away."""
    spelling = operators.spelling(node.domain, node.op)
    value = node.results[0] if node.results else None
    read = 1 if spelling is not None and spelling.by == "axes" else 2
    if spelling is None or value is None or any(operand is None for operand in node.operands[:read]):
        return
    if len(node.operands) < read:
        return  # a broken file: the runtime refuses the node
    match spelling.by:
        case "shape":
            yield from _by_shape(node, value.ranked, spelling)
        case "repeats":
            yield from _by_repeats(node, value.ranked, spelling)
        case "axes":
            yield from _by_axes(node, value.ranked)


def _by_shape(node: Node, to: Shape, spelling: operators.Spelling) -> Iterator[Edit]:
    shape = node.operand(0).ranked
    target = node.operand(1).literal
    missing = to.rank - shape.rank
    lifted = Shape((1,) * missing + shape.dims)
    idle = _does_nothing(lifted, to) and _fits(lifted, node.operand(1).content, spelling)
    if missing:
        yield Lift(0, tuple(range(missing)), "GF202")
        idle = idle and node.results[0] not in node.graph.outputs
    if idle:
        yield Fold()
    elif spelling.two_way and target is not None and to.static and target != to.dims:
        yield Spell(to)


def _by_repeats(node: Node, to: Shape, spelling: operators.Spelling) -> Iterator[Edit]:
    shape = node.operand(0).ranked
    repeats = node.operand(1).literal
    if repeats is None or len(repeats) != shape.rank:
        return
    stretches = all(repeat == 1 or size == 1 for size, repeat in zip(shape.dims, repeats, strict=True))
    if all(repeat == 1 for repeat in repeats):
        yield Fold()
    elif stretches and to.static and not spelling.standard:
        yield Spell(to)


def _by_axes(node: Node, to: Shape) -> Iterator[Edit]:
    """Only the stretch that it becomes can say the lifted axes: without it the operand keeps its rank."""
    axes = _followed(node, to)
    if any(after <= before for before, after in pairwise(axes)):
        order = ",".join(map(str, axes))
        yield Leave(0, f"its axes follow axes {order} of the result: it transposes them as well", "GF202", "left")
        return
    new = tuple(axis for axis in range(to.rank) if axis not in axes)
    idle = _does_nothing(with_axes(node.operand(0).ranked, new), to) and node.results[0] not in node.graph.outputs
    if not (idle or to.static):
        raise Undecided(f"the sizes of {to}, which it is stretched to, are not all known")
    if new:
        yield Lift(0, new, "GF202")
    yield Fold() if idle else Spell(to)


def _followed(node: Node, to: Shape) -> Sequence[int]:
    """The axes of the result that the operand's axes follow, one for each. Raises Undecided for a list that is not."""
    stated = node.attributes.get("broadcast_dimensions", ())
    axes = [axis for axis in stated if isinstance(axis, int)] if isinstance(stated, Sequence) else []
    if len(axes) != node.operand(0).ranked.rank or not all(0 <= axis < to.rank for axis in axes):
        raise Undecided(f"its broadcast_dimensions do not name an axis of {to} for each axis of its operand")
    return axes


def _fits(lifted: Shape, target: Shape | None, spelling: operators.Spelling) -> bool:
    """Whether the target's sizes meet the operand's for certain: where they may not, the node is what fails."""
    if target is None or not target.ranked:
        return False
    if not spelling.two_way:
        return target.rank == lifted.rank and _does_nothing(lifted, target)
    return cstr_broadcastable(lifted, target) is True


def _does_nothing(shape: Shape, to: Shape) -> bool:
    return all(same(have, want) for have, want in zip(shape.dims, to.dims, strict=True))

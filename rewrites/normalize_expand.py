"""Write an Expand or Tile that the model already has as a lift and a same-rank Expand to the full shape.

    Expand(x[4], [2,3,4])          ->  Expand(x[1,1,4], [2,3,4])
    Expand(x[2,1,4], [3,1])        ->  Expand(x[2,1,4], [2,3,4])
    Tile(x[1,4], repeats=[3,1])    ->  Expand(x[1,4], [3,4])
    Expand(x[2,4], [2,4])          ->  x

ONNX's Expand is two-directional, and a 1 in its shape means "keep": tool chains read one or the other wrongly. A Tile
that repeats an axis of more than one element is no broadcast and stays. An Expand that provably does nothing goes,
unless its result is an output of the graph, or its shape is computed from sizes that may not fit. Where the shape is
computed when the model runs only the rank is made equal.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.edits import DEFAULT, Edit, Fold, Lift, Options, Spell
from graphfix.graph import Node
from graphfix.shapes import Shape, cstr_broadcastable, same


def plan(node: Node, options: Options = DEFAULT) -> Iterator[Edit]:  # noqa: ARG001 -- every plan takes the options
    """Lift the operand, state the shape in full, or fold the node away."""
    form = FORMS.get((node.domain, node.op))
    value = node.results[0] if node.results else None
    if form is not None and value is not None:
        yield from form(node, value.ranked)


def _expand(node: Node, to: Shape) -> Iterator[Edit]:
    shape = node.operand(0).ranked
    target = node.operand(1).literal
    missing = to.rank - shape.rank
    idle = _does_nothing(Shape((1,) * missing + shape.dims), to) and _fits(shape, node.operand(1).content)
    if missing:
        yield Lift(0, tuple(range(missing)), "GF202")
        idle = idle and node.results[0] not in node.graph.outputs
    if idle:
        yield Fold()
    elif target is not None and to.static and target != to.dims:
        yield Spell(to)


def _tile(node: Node, to: Shape) -> Iterator[Edit]:
    shape = node.operand(0).ranked
    repeats = node.operand(1).literal
    if repeats is None or len(repeats) != shape.rank:
        return
    if all(repeat == 1 for repeat in repeats):
        yield Fold()
    elif to.static and all(repeat == 1 or size == 1 for size, repeat in zip(shape.dims, repeats, strict=True)):
        yield Spell(to)


def _fits(shape: Shape, target: Shape | None) -> bool:
    """Whether the target's sizes meet the operand's for certain: where they may not, the node is what fails."""
    return target is not None and cstr_broadcastable(shape, target) is True


def _does_nothing(shape: Shape, to: Shape) -> bool:
    return all(same(have, want) for have, want in zip(shape.dims, to.dims, strict=True))


FORMS = {("", "Expand"): _expand, ("", "Tile"): _tile}
OPERATORS = frozenset(FORMS)

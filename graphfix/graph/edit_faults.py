"""Check the edits that users' own rewrites plan, before they are carried out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import prod

from graphfix.graph.edits import (
    Assume,
    Bypass,
    Canonicalize,
    Edit,
    Fold,
    Inline,
    Leave,
    Lift,
    New,
    Numbers,
    Replace,
    Restate,
    Stretch,
)
from graphfix.graph.view import Node, Value
from graphfix.results.error_texts import shown
from graphfix.shapes.dim import Shape


def fault(edit: object, node: Node, codes: Collection[str], earlier: Sequence[Edit] = ()) -> str | None:
    """Return what is wrong with an edit that a plan yielded for a node, as the rest of a sentence; None if nothing is.

    `codes` are the finding codes that the edit may have. `earlier` are the edits that the plan has already yielded for
    the node.
    """
    if not isinstance(edit, Edit):
        return f"the plan yields {shown(edit)}, a {type(edit).__name__}, which is not an edit"
    what = type(edit).__name__
    if edit.code not in codes:
        return f"{what} has the code {shown(edit.code)}: a rewrite uses its own CODE, or one of graphfix's"
    found = next(_faults(edit, node, earlier), None)
    return f"{what}: {found}" if found is not None else None


def _faults(edit: Edit, node: Node, earlier: Sequence[Edit]) -> Iterator[str]:
    """Yield each fault of an edit."""
    if isinstance(edit, (Lift, Stretch, Bypass, Restate, Fold, Assume, Leave)):
        yield from _of_operand(edit.operand, node) if edit.operand is not None else ()
    match edit:
        case Replace():
            yield from _of_new(edit.node, node)
            yield from _of_others(edit, node)
        case Lift():
            yield from _of_axes(edit, node)
        case Stretch():
            yield from _of_shape("to", edit.to)
            yield from _of_rank(edit, node, earlier)
        case Restate() | Canonicalize():
            yield from _of_shape("to", edit.to)
        case Bypass() if not isinstance(edit.source, Value):
            yield f"source is {shown(edit.source)}, not a Value"
        case Inline() if edit.branch not in node.attributes:
            yield f"the node has no attribute {shown(edit.branch)}"


def _of_operand(index: object, node: Node) -> Iterator[str]:
    """Yield a fault if `index` is not the number of an operand that the node has."""
    if not isinstance(index, int) or isinstance(index, bool):
        yield f"an operand is named by its number, not {shown(index)}"
    elif not 0 <= index < len(node.operands) or node.operands[index] is None:
        yield f"the node has no operand {index}"


def _of_axes(edit: Lift, node: Node) -> Iterator[str]:
    """Yield a fault if the axes of a lift are not distinct positions of the lifted shape."""
    shape = node.operand(edit.operand).shape
    rank = (shape.rank if shape.ranked else 0) + len(edit.axes)
    axes = [axis for axis in edit.axes if isinstance(axis, int)]
    if len(set(axes)) != len(edit.axes) or (shape.ranked and any(not 0 <= axis < rank for axis in axes)):
        yield f"axes are {shown(edit.axes)}, not distinct positions of a shape of rank {rank}"


def _of_rank(edit: Stretch, node: Node, earlier: Sequence[Edit]) -> Iterator[str]:
    """Yield a fault if a stretch would change the rank.

    A stretch repeats axes and adds none, because a node that does both would be an implicit broadcast itself (GF202).
    """
    shape = node.operand(edit.operand).shape
    lifts = [each for each in earlier if isinstance(each, Lift) and each.operand == edit.operand]
    if shape.ranked and edit.to.ranked and (rank := shape.rank + sum(len(each.axes) for each in lifts)) != edit.to.rank:
        yield f"operand {edit.operand} has rank {rank} and `to` has rank {edit.to.rank}; yield a Lift of it first"


def _of_shape(name: str, shape: object) -> Iterator[str]:
    """Yield a fault if `shape` is not a Shape; `name` is its name in the message."""
    if not isinstance(shape, Shape):
        yield f"{name} is {shown(shape)}, not a Shape"


def _of_others(edit: Replace, node: Node) -> Iterator[str]:
    """Yield the faults of the results that a Replace computes besides the first result."""
    for at, new in edit.others:
        if not 0 < at < len(node.results) or node.results[at] is None:
            yield f"the node has no result {at} behind the first"
        yield from _of_new(new, node)


def _of_new(last: object, node: Node) -> Iterator[str]:
    """Yield the faults of a new node and of all new nodes that it reads; each node is checked once."""
    pending, seen = [last], set[int]()
    while pending:
        new = pending.pop()
        if id(new) in seen:
            continue
        seen.add(id(new))
        if isinstance(new, New):
            yield from _of_one(new)
            pending += new.operands
        else:
            yield from _of_source(new, node)
    if not isinstance(last, New):
        yield f"a node is replaced by a New, not {shown(last)}"


def _of_one(new: New) -> Iterator[str]:
    """Yield the faults of one new node, without its operands."""
    if not (isinstance(new.op, str) and isinstance(new.dtype, str) and isinstance(new.operands, tuple)):
        yield "of New, op and dtype are texts, and operands are a tuple"
    yield from _of_shape(f"the shape of the new {shown(new.op)}", new.shape)


def _of_source(source: object, node: Node) -> Iterator[str]:
    """Yield the faults of an operand of a new node."""
    match source:
        case Value():
            pass
        case Numbers():
            if prod(source.dims) != len(source.elements):
                yield f"Numbers of {list(source.dims)} have {prod(source.dims)} elements, not {len(source.elements)}"
        case int():
            yield from _of_operand(source, node)
        case _:
            yield f"a new node reads operands, Values, New and Numbers, not {shown(source)}"

"""What the nodes of a model need not read: found reader by reader, and done where every reader of a value agrees.

A reader's result keeps its shape, and each operand may be made explicit again with the same bits: what
`equalize-ranks` and `materialize-broadcasts` would leave alone is not undone either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from graphfix import operators
from graphfix.graph.broadcast import MATRIX, Alignment, align_anyhow, exemption, over_limit, taking_part
from graphfix.graph.edits import Bypass, Edit, Leave, Restate
from graphfix.graph.passing import asked_sizes, bare, constant, is_carried, is_carrier, is_lift, source, sources
from graphfix.graph.view import Graph, Node, Value, is_live
from graphfix.shapes.shape import Incompatible, Shape, Size, Undecided, broadcast, same, same_shape

Operands: TypeAlias = Mapping[int, Value]
"""By index: what a node would read."""


@dataclass(slots=True)
class Compaction:
    """One look at a whole model: what each node may read instead, each question answered once."""

    nearer: dict[Node, Operands] = field(default_factory=dict)
    goes: dict[Value, bool] = field(default_factory=dict)

    def edits(self, node: Node) -> Sequence[Edit]:
        """What the node is to read instead: first what stands behind its operands, then its constants in less axes."""
        freed = {at: value for at, value in self._nearer(node).items() if self._goes(node.operand(at))}
        restated = [*_restated(node, freed)] if any(map(constant, node.operands)) else []
        if freed and not any(edit.to.rank > node.operand(edit.operand).shape.rank for edit in restated):
            restated = []  # a constant is restated once, for all who read it when the others are gone
        nearer = [Bypass(at, value) for at, value in freed.items() if not is_carried(node.operand(at))]
        return [*nearer, *restated]

    def needed(self, node: Node, at: int, code: str) -> Leave | None:
        """Why a stretch stays; None where it goes, or nobody reads it."""
        for value in node.results:
            if value is not None and value in value.graph.outputs:
                return Leave(at, "its result is an output of the graph", code)
            for reader, place in value.reads if value is not None else ():
                if value is not None and is_live(reader) and place not in self._nearer(reader):
                    read = {where: node.operand(at) for other, where in value.reads if other is reader}
                    return _wanted(reader, read, Leave(at, "", code))
        return None

    def _nearer(self, node: Node) -> Operands:
        if node not in self.nearer:
            try:
                self.nearer[node] = self._carried(node) if is_carrier(node) else _nearer(node)
            except (Undecided, Incompatible):
                self.nearer[node] = {}  # no reason of this rewrite: the node stays as it is
        return self.nearer[node]

    def _carried(self, node: Node) -> Operands:
        """What a carrier may read: whatever those who read its result may read of it."""
        behind, result = source(node.operand(0)), node.results[0]
        if behind is None or result is None or source(result) is None or not self._goes(result):
            return {}
        return {0: behind}

    def _goes(self, value: Value) -> bool:
        """Whether everyone who reads a value may read what stands behind it."""
        if value not in self.goes:
            self.goes[value] = value not in value.graph.outputs and all(
                at in self._nearer(reader) for reader, at in value.reads if is_live(reader)
            )
        return self.goes[value]


def every_node(graphs: Sequence[Graph]) -> Iterator[Node]:
    """The nodes of a model that are still there, those that edits made behind those of the file."""
    for graph in graphs:
        yield from [node for node in (*graph.nodes, *graph.made) if node.operands]


# --- what a node may read instead -----------------------------------------------------------------------------------


def _nearer(node: Node) -> Operands:
    """By operand what stands behind it, as far as the node may read that. Raises Undecided or Incompatible."""
    form = operators.stretch_form(node.domain, node.op)
    if form is not None:
        return _behind_a_stretch(node) if form.by == "shape" else {}
    pairs = [(at, source(value)) for at, value in _taking_part(node)]
    behind = {at: value for at, value in pairs if value is not None}
    if not behind:
        return {}
    before = align_anyhow(node)
    if before is None:
        return {}
    chains = {at: _chain(node, before, at) for at in behind}
    read = {
        at: replace(value, shape=_with_rank(value.shape, before.rank))
        for at, value in _taking_part(node)
        if at not in chains and before.rank and _is_at_hand(value) and _may_lift(before, at)
    }
    kept = _kept(node, before, chains, read)
    return {at: behind[at] for at, chain in chains.items() if kept[at]}


def _taking_part(node: Node) -> Iterator[tuple[int, Value]]:
    """The operands that are broadcast, but for the one whose shape is the result's."""
    onto = node.row.onto if node.row is not None else None
    return ((operand.index, value) for operand, value in taking_part(node) if operand.index != onto)


def _behind_a_stretch(node: Node) -> Operands:
    """A stretch to a shape that is stated for every axis aligns its operand itself."""
    behind, result = source(node.operand(0)), node.results[0]
    target = node.operand(1) if len(node.operands) > 1 else None
    if behind is None or result is None or target is None or not (behind.shape.ranked and result.shape.ranked):
        return {}
    if target.shape.axes != (result.shape.rank,):
        return {}
    if is_lift(node.operand(0)):
        return {0: behind}
    content = target.content
    whole = content is not None and same_shape(broadcast(behind.shape, content), result.shape)
    return {0: behind} if whole else {}


def _chain(node: Node, before: Alignment, at: int) -> Sequence[Value]:
    """An operand and what stands behind it, as far as it can be made explicit again with the same bits."""
    chain = [node.operand(at)]
    for value in sources(chain[0]):
        if value.dtype != chain[0].dtype or not _is_exact(node, before, {at: value}):
            break
        chain.append(value)
    return chain


def _kept(node: Node, before: Alignment, chains: Mapping[int, Sequence[Value]], read: Operands) -> Mapping[int, int]:
    """How many steps behind each operand the node may read at once: without some an axis would be another one.

    Of several that could stay the one that is computed first does: what edits added stands before its reader.
    """
    steps = {at: len(chain) - 1 for at, chain in chains.items()}

    def fits() -> bool:
        now = {at: chain[steps[at]] for at, chain in chains.items()}
        passed = [value for at, chain in chains.items() for value in chain[: steps[at]]]
        return _is_same(node, before, {**read, **now}, lifts=all(map(is_lift, passed))) and all(
            _is_asked(node, before, {**read, **now}, size) for value in passed for size in asked_sizes(value)
        )

    each = [(_place(chain[step]), at, step) for at, chain in chains.items() for step in range(len(chain) - 1)]
    moved: list[int] = []
    for _, at, step in sorted(each):
        if fits():
            break
        steps[at] = min(steps[at], step)
        moved.append(at)
    for at in dict.fromkeys(moved):
        for step in range(len(chains[at]) - 1, steps[at] - 1, -1):
            steps[at] = step
            if fits():
                break
    return steps


def _is_asked(node: Node, before: Alignment, read: Operands, asked: tuple[int, Size]) -> bool:
    """Whether what an operand meets has a size at an axis, so that what does not fit it still fails."""
    axis, size = asked
    shapes = [read.get(at, value).shape.axes or () for at, value in _taking_part(node)]
    shapes.append(before.result.axes or () if before.onto else ())
    return any(axis <= len(axes) and same(axes[-axis], size) for axes in shapes)


def _place(value: Value) -> tuple[bool, int, int]:
    """When a value is computed: in an outer graph first; what was made in this run comes last."""
    place, depth, graph = value.place if value.place is not None else 0, 0, value.graph
    while graph.outer is not None:
        depth, graph = depth + 1, graph.outer
    return place < 0, depth, abs(place)


def _is_same(node: Node, before: Alignment, read: Operands, *, lifts: bool = False) -> bool:
    """Whether the result has the shape that it has when the node reads other operands.

    `lifts`: all that they lack is unit axes in front, so that the rank alone may be another one.
    """
    if not all(_is_matrix(node, node.operand(at), value) for at, value in read.items()):
        return False
    try:
        after = align_anyhow(reading(node, read))
    except Incompatible:
        return False
    if after is None or after.rank != before.rank:
        return False
    if lifts and before.rank:
        return True
    return same_shape(after.result, before.result) and not (before.onto and _checks_less(before, read))


def _checks_less(before: Alignment, read: Operands) -> bool:
    """Whether an operand that is broadcast onto a shape no longer asks for a size of it."""
    rank = before.result.rank
    return any(
        not (same(was, now) or same_shape(Shape((was,)), broadcast(Shape((now,)), Shape((whole,)))))
        for operand in before.operands
        if operand.index in read
        for was, now, whole in zip(
            _with_rank(operand.shape, rank).dims,
            _with_rank(read[operand.index].ranked, rank).dims,
            before.result.dims,
            strict=True,
        )
    )


def _is_matrix(node: Node, was: Value, now: Value) -> bool:
    """Whether an operand of a matrix product is the same matrix: its last two axes do not broadcast."""
    if node.row is None or node.row.style != "matmul" or was is now:
        return True
    ours, theirs = was.ranked, now.ranked
    whole = ours.rank >= MATRIX and theirs.rank >= MATRIX
    return whole and same_shape(Shape(ours.dims[-MATRIX:]), Shape(theirs.dims[-MATRIX:]))


def _is_exact(node: Node, before: Alignment, read: Operands) -> bool:
    """Whether what the node would read can be lifted and stretched to what it reads, with the same bits."""
    old = {operand.index: operand for operand in before.operands}
    try:
        after = align_anyhow(reading(node, read))
    except Incompatible:
        return False
    if after is None or over_limit(node, after) is not None:
        return False
    changed = [(operand, old[operand.index].value) for operand in after.operands if operand.index in read]
    return not any(
        (_is_lifted(operand.value, to) and exemption(after, operand, operand.operand.keep_rank) is not None)
        or (_is_stretched(operand.value, to) and exemption(after, operand, operand.operand.keep_dims) is not None)
        for operand, to in changed
    )


def _is_lifted(value: Value, to: Value) -> bool:
    """Whether it takes a lift to make one value of another, as far as is known."""
    return not (value.shape.ranked and to.shape.ranked) or value.shape.rank < to.shape.rank


def _is_stretched(value: Value, to: Value) -> bool:
    """Whether it takes a stretch."""
    if not (value.shape.ranked and to.shape.ranked):
        return True
    rank = max(value.shape.rank, to.shape.rank)
    return not same_shape(_with_rank(value.shape, rank), _with_rank(to.shape, rank))


def reading(node: Node, read: Operands) -> Node:
    """The node with other operands, for a question about its alignment."""
    return node.reading(tuple(read.get(at, value) for at, value in enumerate(node.operands)))


def _with_rank(shape: Shape, rank: int) -> Shape:
    return Shape((1,) * (rank - shape.rank) + shape.dims)


def _is_at_hand(value: Value) -> bool:
    """Whether a value is a constant that can be stated in another shape."""
    held = constant(value)
    return held is not None and held.repeats is not None and (held is value or _is_alone(value))


def _may_lift(before: Alignment, at: int) -> bool:
    operand = next(operand for operand in before.operands if operand.index == at)
    return exemption(before, operand, operand.operand.keep_rank) is None


def _wanted(reader: Node, read: Operands, leave: Leave) -> Leave:
    """Say why a reader does not read what stands behind an operand."""
    name = f"{reader.op} '{reader.label}'"
    if not read.keys() <= dict(_taking_part(reader)).keys():
        return replace(leave, reason=f"{name} reads it, and does not broadcast it")
    try:
        before = align_anyhow(reader)
        if before is None or not before.result.ranked:
            return replace(leave, reason=f"the rank of what {name} makes is not known")
        if not _is_exact(reader, before, read):
            return replace(leave, reason=f"with less to read {name} may make other bits")
        after = align_anyhow(reading(reader, read))
    except (Undecided, Incompatible) as why:
        return replace(leave, reason=f"{name}: {why}", status="left")
    ones = after is None or after.rank < before.rank or _is_less(after.result, before.result)
    if ones:
        return replace(leave, reason=f"{name} has no other operand of the sizes of its result")
    return replace(leave, reason=f"that {name} has its shape without it is not known for all sizes", status="left")


def _is_less(after: Shape, before: Shape) -> bool:
    """Whether an axis of the result would be 1 for certain where it is another size."""
    pairs = zip(after.dims, before.dims, strict=True)
    return any(same(now, 1) and not same(was, 1) for now, was in pairs)


# --- constants ------------------------------------------------------------------------------------------------------


def _restated(node: Node, freed: Operands) -> Iterator[Restate]:
    """Each constant in the fewest axes and elements that leave the result as it is; the first one carries the rank."""
    try:
        before = align_anyhow(node)
        if before is None:
            return
        read = dict(freed)
        for operand in before.operands:
            at, value = operand.index, operand.value
            held = constant(value) if at not in freed else None
            repeats = held.repeats if held is not None else None
            if repeats is None or not value.shape.ranked or (held is not value and not _is_alone(value)):
                continue  # a constant that is dequantized for others too would be dequantized twice
            for shape in _smaller(value.shape, repeats.least, before.rank):
                candidate = {**read, at: replace(value, shape=shape)}
                fits = before.rank or _has_rank_beside(before, at, value.shape.rank)
                if fits and _is_same(node, before, candidate) and _is_exact(node, before, {at: candidate[at]}):
                    read = candidate
                    break
            if not same_shape(read.get(at, value).shape, value.shape):
                yield Restate(at, read[at].shape)
    except Undecided:
        return


def _has_rank_beside(before: Alignment, at: int, rank: int) -> bool:
    """Whether another operand is known to have so many axes, where the result's rank is not known."""
    others = (operand.value.shape for operand in before.operands if operand.index != at)
    return any(shape.ranked and shape.rank >= rank for shape in others)


def _is_alone(value: Value) -> bool:
    """Whether one operand of one node is all that a value is for."""
    return value not in value.graph.outputs and sum(is_live(reader) for reader, _ in value.reads) == 1


def _smaller(shape: Shape, least: Shape, rank: int) -> Iterator[Shape]:
    """Shapes of a constant, the smallest first: as few elements as there are different ones, then as few axes."""
    for dims in dict.fromkeys((least.dims, *_partly(shape, least), shape.dims)):
        axes = bare(Shape(dims))
        for more in range(max(rank, len(dims)) - len(axes) + 1):
            yield Shape((1,) * more + axes)


def _partly(shape: Shape, least: Shape) -> Iterator[tuple[Size, ...]]:
    """The shape with all but one of the axes that repeat cut, then with one of them cut."""
    axes = [axis for axis, (have, want) in enumerate(zip(shape.dims, least.dims, strict=True)) if have != want]
    for axis in axes if len(axes) > 1 else ():
        yield tuple(shape.dims[at] if at == axis else size for at, size in enumerate(least.dims))
    for axis in axes if len(axes) > 1 else ():
        yield tuple(least.dims[at] if at == axis else size for at, size in enumerate(shape.dims))

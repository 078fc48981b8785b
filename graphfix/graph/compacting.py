"""Find the redundant nodes that readers can skip, reader by reader; they are skipped if every reader of a value agrees.

A reader may skip a node if the reader's result keeps its shape. It must also be possible to make each operand explicit
again with the same bits. So a broadcast that `equalize-ranks` and `materialize-broadcasts` would leave alone is not
made implicit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from graphfix import operators
from graphfix.graph.broadcast import Alignment, align_anyhow
from graphfix.graph.edits import Bypass, Edit, Leave
from graphfix.graph.operand_replacement import (
    Operands,
    broadcast_operands,
    is_at_hand,
    keeps_bits,
    keeps_result,
    may_lift,
    reading,
    with_rank,
)
from graphfix.graph.redundant_nodes import asked_sizes, constant, is_carried, is_carrier, is_lift, source, sources
from graphfix.graph.shrink_constants import restated
from graphfix.graph.view import Graph, Node, Value, optional_operand
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import Incompatible, Shape, Size, Undecided, same
from graphfix.shapes.shape import broadcast, same_shape


@dataclass(slots=True)
class Compaction:
    """The operands of a whole model that nodes may replace by sources; each question is answered once.

    A source is the operand that a redundant node passes on, for example the operand of an Expand.
    """

    nodes: Sequence[Node]
    dead: frozenset[Node]
    """Nodes that only served skipped nodes; they require nothing of their operands."""
    nearer: dict[Node, Operands] = field(default_factory=dict)
    """For each node and operand, the source that the node may read instead, if all readers of the operand agree."""
    passed: dict[tuple[Node, int], Sequence[Value]] = field(default_factory=dict)
    """For each replaceable operand (node, index), the skipped values: the operand, and values up to its source."""
    goes: dict[Value, bool] = field(default_factory=dict)
    alignments: dict[Node, Alignment | Incompatible | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Compute which operands may be replaced, until all remaining replacements hold together."""
        # Readers are visited first, because the readers of a node's result decide about the node.
        for node in reversed(self.nodes):
            self._nearer(node)
        free = [node for node in reversed(self.nodes) if self.nearer[node]]
        while failing := [node for node in free if self.nearer[node] and not self._holds(node)]:
            self.nearer |= {node: {} for node in failing}
            self.goes.clear()

    def edits(self, node: Node) -> Sequence[Edit]:
        """Return the edits of a node: first operands are replaced by their sources, then constants get fewer axes."""
        freed = self.freed(node)
        before = self.alignment(node) if any(map(constant, node.operands)) else None
        constants = [*restated(node, before, freed)] if isinstance(before, Alignment) else []
        if freed and not any(edit.to.rank > node.operand(edit.operand).shape.rank for edit in constants):
            constants = []  # A constant is rewritten once, for all its readers, after the other operands are replaced.
        nearer = [Bypass(at, value) for at, value in freed.items() if not is_carried(node.operand(at))]
        return [*nearer, *constants] if (nearer or constants) and node not in self.dead else []

    def freed(self, node: Node) -> Operands:
        """Return, by operand, the value that the node is to read instead; all readers of these operands agree.

        This value is a source of the operand: redundant nodes between the two are skipped.
        """
        return {at: value for at, value in self._nearer(node).items() if self._goes(node.operand(at))}

    def alignment(self, node: Node) -> Alignment | Incompatible | None:
        """Return how the operands of a node are broadcast, or the exception Incompatible if they are not.

        Return None if no operand is broadcast, or if it is undecided.
        """
        if node not in self.alignments:
            try:
                self.alignments[node] = align_anyhow(node)
            except Undecided:
                self.alignments[node] = None
            except Incompatible as why:
                self.alignments[node] = why
        return self.alignments[node]

    def needed(self, node: Node, at: int, code: str) -> Leave | None:
        """Return why a stretch must stay, as a `Leave` of the node's operand `at`; None if it can be skipped.

        It can be skipped if no node reads its results, or if all readers may read a source instead.
        """
        for value in node.results:
            if value is not None and value in value.graph.outputs:
                return Leave(at, "its result is an output of the graph", code)
            for reader, place in value.reads if value is not None else ():
                if value is not None and reader not in self.dead and place not in self._nearer(reader):
                    read = {where: node.operand(at) for other, where in value.reads if other is reader}
                    return _wanted(reader, read, Leave(at, "", code))
        return None

    def _nearer(self, node: Node) -> Operands:
        """Return, by operand, the value that the node may read instead, if all readers of the operand agree.

        This value is a source of the operand: redundant nodes between the two are skipped.
        """
        if node not in self.nearer:
            self.nearer[node] = {}  # If the plan is undecided, the node keeps its operands.
            with suppress(Undecided, Incompatible):
                self.nearer[node] = self._carried(node) if is_carrier(node) else self._behind(node)
        return self.nearer[node]

    def _behind(self, node: Node) -> Operands:
        """Return, by operand, the farthest source that the node may read instead. Raises Undecided.

        A source is an operand that redundant nodes, such as an Expand, pass on.
        """
        form = operators.stretch_form(node.domain, node.op)
        if form is not None:
            return _behind_a_stretch(node) if form.by == "shape" else {}
        behind = [at for at, value in broadcast_operands(node) if source(value) is not None]
        before = self.alignment(node) if behind else None
        if not isinstance(before, Alignment):
            return {}
        chains = {at: _chain(node, before, at) for at in behind}
        read = {
            at: replace(value, shape=with_rank(value.shape, before.rank))
            for at, value in broadcast_operands(node)
            if at not in chains and before.rank and is_at_hand(value) and may_lift(node, before, at)
        }
        kept = _kept(node, before, chains, read)
        self.passed.update({(node, at): chain[: kept[at]] for at, chain in chains.items()})
        return {at: chain[kept[at]] for at, chain in chains.items() if kept[at]}

    def _holds(self, node: Node) -> bool:
        """Return whether a node keeps its result if it replaces only the operands on which all readers agree."""
        result, freed, before = node.results[0], self.freed(node), self.alignment(node)
        if is_carrier(node):
            return result is not None and self._goes(result)
        if not freed or not isinstance(before, Alignment):
            return True
        passed = [value for at in freed for value in self.passed[node, at]]
        constants = {edit.operand: edit.to for edit in restated(node, before, freed)}
        read = {**freed, **{at: replace(node.operand(at), shape=shape) for at, shape in constants.items()}}
        return _is_as_it_was(node, before, read, passed)

    def _carried(self, node: Node) -> Operands:
        """Return the source that a carrier may read, if all readers of its result may read the result's source.

        A carrier is a node that quantizes or dequantizes.
        """
        behind, result = source(node.operand(0)), node.results[0]
        if behind is None or result is None or source(result) is None or not self._goes(result):
            return {}
        return {0: behind}

    def _goes(self, value: Value) -> bool:
        """Return whether all readers of a value may read its source instead.

        The source is the operand that the redundant producer of the value passes on.
        """
        if value not in self.goes:
            self.goes[value] = value not in value.graph.outputs and all(
                at in self._nearer(reader) for reader, at in value.reads if reader not in self.dead
            )
        return self.goes[value]


def every_node(graphs: Sequence[Graph]) -> Iterator[Node]:
    """Yield all nodes of a model that were not removed; in each graph, the file's nodes come before new nodes."""
    for graph in graphs:
        yield from [node for node in (*graph.nodes, *graph.made) if node.operands]


def _behind_a_stretch(node: Node) -> Operands:
    """Return the source that a stretch may read instead of its operand 0; empty if there is none.

    A stretch to a full target shape can also lift and stretch the source.
    """
    behind, result = source(node.operand(0)), node.results[0]
    target = optional_operand(node, 1)
    if behind is None or result is None or target is None or not (behind.shape.ranked and result.shape.ranked):
        return {}
    if target.shape.axes != (result.shape.rank,) or behind.shape.rank > result.shape.rank:
        return {}
    if is_lift(node.operand(0)):
        return {0: behind}
    content = target.content
    is_whole_result = content is not None and same_shape(broadcast(behind.shape, content), result.shape)
    return {0: behind} if is_whole_result else {}


def _chain(node: Node, before: Alignment, at: int) -> Sequence[Value]:
    """Return an operand followed by its sources, as far as they can be made explicit again with the same bits."""
    chain = [node.operand(at)]
    for value in sources(chain[0]):
        if value.dtype != chain[0].dtype or not keeps_bits(node, before, {at: value}):
            break
        chain.append(value)
        if is_carried(chain[0]):
            break  # A carrier moves by one step for all its readers.
    return chain


def _kept(node: Node, before: Alignment, chains: Mapping[int, Sequence[Value]], read: Operands) -> Mapping[int, int]:
    """Return, for each operand, the number of steps along its chain to the value that the node may read instead.

    The node's result must stay the same. If one of several values must be kept, it is the one that is computed first,
    because new nodes are placed directly before their reader.
    """
    steps = {at: len(chain) - 1 for at, chain in chains.items()}

    def fits() -> bool:
        """Return whether the node keeps its result with the present steps."""
        now = {at: chain[steps[at]] for at, chain in chains.items()}
        passed = [value for at, chain in chains.items() for value in chain[: steps[at]]]
        return _is_as_it_was(node, before, {**read, **now}, passed)

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


def _is_as_it_was(node: Node, before: Alignment, read: Operands, passed: Sequence[Value]) -> bool:
    """Return whether a node with other operands has the same result, and fails for the same sizes as before.

    `passed` are the skipped values.
    """
    return keeps_result(node, before, read, lifts=all(map(is_lift, passed))) and all(
        _is_asked(node, before, read, size) for value in passed for size in asked_sizes(value)
    )


def _is_asked(node: Node, before: Alignment, read: Operands, asked: tuple[int, Size]) -> bool:
    """Return whether an operand of the node still has a required size, so that operands that do not fit still fail.

    `asked` is (axis from the right, size).
    """
    axis, size = asked
    shapes = [read.get(at, value).shape.axes or () for at, value in broadcast_operands(node)]
    shapes.append(before.result.axes or () if before.onto else ())
    return any(axis <= len(axes) and same(axes[-axis], size) for axes in shapes)


def _place(value: Value) -> tuple[bool, int, int]:
    """Return a sort key for when a value is computed: outer graphs come first, and results of new nodes come last."""
    place, depth, graph = value.place if value.place is not None else 0, 0, value.graph
    while graph.outer is not None:
        depth, graph = depth + 1, graph.outer
    return place < 0, depth, abs(place)


def _wanted(reader: Node, read: Operands, leave: Leave) -> Leave:
    """Return `leave` with the reason why a reader does not read the source of an operand."""
    name = f"{reader.op} '{reader.label}'"
    if not read.keys() <= dict(broadcast_operands(reader)).keys():
        return replace(leave, reason=f"{name} reads it, and does not broadcast it")
    try:
        before = align_anyhow(reader)
        if before is None or not before.result.ranked:
            return replace(leave, reason=f"the rank of what {name} makes is not known")
        if not keeps_bits(reader, before, read):
            return replace(leave, reason=f"with less to read {name} may make other bits")
        after = align_anyhow(reading(reader, read))
    except (Undecided, Incompatible) as why:
        return replace(leave, reason=f"{name}: {why}", status="left")
    ones = after is None or after.rank < before.rank or _is_less(after.result, before.result)
    if ones:
        return replace(leave, reason=f"{name} has no other operand of the sizes of its result")
    return replace(leave, reason=f"that {name} has its shape without it is not known for all sizes", status="left")


def _is_less(after: Shape, before: Shape) -> bool:
    """Return whether any axis has size 1 for certain in the shape `after`, but not in the shape `before`."""
    pairs = zip(after.dims, before.dims, strict=True)
    return any(same(now, 1) and not same(was, 1) for now, was in pairs)

"""What the user chose about broadcasts, applied to the candidate edits of one node.

`equalize-ranks` and `materialize-broadcasts` plan whatever could be made explicit. Which of it is carried out is
decided here, in this order: `--keep-fusions`, `--broadcasts two-sided`, `--unknown`; with `--broadcasts keep` the
second is not in the list. A stretch changes no known rank, so an operand that was not lifted is left. Other rewrites
plan what their target needs: nothing of that is a choice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from graphfix import operators
from graphfix.graph.broadcast import align, has_ranks, is_run_time_form
from graphfix.graph.edits import Assume, Bypass, Canonicalize, Edit, Fold, Leave, Lift, Restate, Stretch
from graphfix.graph.operand_replacement import with_rank
from graphfix.graph.protocols import ModelRewrite, Rewrite
from graphfix.graph.redundant_nodes import carried_from, is_carried
from graphfix.graph.view import Graph, Node, Value
from graphfix.results import GraphfixError
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Shape
from graphfix.shapes.shape import same_shape
from graphfix.targets.registry import Broadcasts, Unknown
from graphfix.targets.target import MATERIALIZE

if TYPE_CHECKING:
    from graphfix.targets.onnxruntime.matching import Fusions

Plans: TypeAlias = Sequence[tuple[Node, Sequence[Edit]]]
"""Nodes and what is to be done to each."""
EQUALIZE, NORMALIZE, FOLD = "equalize-ranks", "normalize-expand", "fold-broadcasts"


@dataclass(frozen=True, slots=True)
class Policy:
    """What the user or the target asks of the rewrites of broadcasts."""

    broadcasts: Broadcasts = "explicit"
    unknown: Unknown = "expand"
    keep_fusions: bool = False
    folds: bool = False
    """Whether fold-broadcasts runs too: it takes the lift away that an Expand aligns by itself."""
    movement: Collection[str] | None = None
    """The operators by which the target has stretches written: those stay what they are; None: all."""

    def edits(self, rewrite: Rewrite, node: Node, kept: Fusions | None = None) -> Sequence[Edit]:
        """The edits of one node that are carried out, but those that would end a fusion that is to be kept.

        Raises as the plan does, and GraphfixError (--unknown error).
        """
        if rewrite.name == NORMALIZE and self._expands and is_run_time_form(node):
            return [Leave(0, "its rank is known only at run time, where it takes the shape of another value", "GF104")]
        if rewrite.name == NORMALIZE:
            return self._normalized(node, list(rewrite.plan(node)))
        if rewrite.name not in (EQUALIZE, MATERIALIZE):
            return list(rewrite.plan(node))
        if not (self._expands or has_ranks(node)):
            align(node)  # raises with the name of the operand whose rank is not known
        edits = [_unless_fused(node, edit, kept) for edit in rewrite.plan(node)]
        stretches = [edit for edit in edits if isinstance(edit, Stretch)]
        others = [edit for edit in edits if not isinstance(edit, Stretch)]
        wanted = (edit for stretch in self._two_sided(node, stretches) for edit in self._known(node, stretch))
        return [*others, *(_unless_lower(node, edit) for edit in wanted)]

    def _normalized(self, node: Node, edits: Sequence[Edit]) -> Sequence[Edit]:
        """Where the target takes the operator as it is, it stays."""
        if self.movement is not None and node.op in self.movement:
            edits = [edit for edit in edits if not isinstance(edit, Canonicalize)]
        return _without_lifts(node, edits) if self.folds else edits

    @property
    def _expands(self) -> bool:
        """Whether what is not known is stretched by the run-time form, which aligns ranks as well."""
        return self.broadcasts != "keep" and self.unknown == "expand"

    @property
    def left_out(self) -> Collection[str]:
        """The rewrites of which nothing would be carried out."""
        return (MATERIALIZE,) if self.broadcasts == "keep" else ()

    def fusions(self, rewrite: Rewrite | ModelRewrite, graph: Graph) -> Mapping[int, Fusions]:
        """By place of a node: the fusions that its plan heeds."""
        if not (self.keep_fusions and rewrite.name in (EQUALIZE, MATERIALIZE, FOLD)):
            return {}
        from graphfix.targets.onnxruntime.matching import find

        return find(graph)

    def _two_sided(self, node: Node, stretches: Sequence[Stretch]) -> Sequence[Stretch]:
        """With `two-sided`, the cheapest until at most one operand is repeated by the operator itself."""
        if self.broadcasts != "two-sided" or not all(stretch.to.ranked for stretch in stretches):
            return stretches
        if len(stretches) <= 1:
            return []
        unknown = not all(stretch.to.static and "maybe" not in stretch.axes for stretch in stretches)
        # nothing is saved where there are no elements, and some kernels fail on an empty operand that they stretch
        if unknown or any(0 in stretch.to.dims for stretch in stretches):
            return stretches
        costs = {stretch.operand: (_bytes(node, stretch), stretch.operand) for stretch in stretches}
        return sorted(stretches, key=lambda stretch: costs[stretch.operand])[:-1]

    def _known(self, node: Node, stretch: Stretch) -> Iterator[Edit]:
        """What `--unknown` makes of a stretch that only the run decides."""
        if "maybe" not in stretch.axes or self.unknown == "expand":
            yield stretch
            return
        value, result = node.operand(stretch.operand), _result(node)
        if self.unknown == "error":
            raise GraphfixError(
                f"{node.op} '{node.label}': operand {stretch.operand} {value} may be stretched when the model runs; "
                "bind its dims (--dim, --shape) or choose another --unknown"
            )
        if self.unknown == "keep":
            reason = f"whether {value.shape} is stretched to {result} is known only at run time (--unknown keep)"
            yield Leave(stretch.operand, reason, "GF103", "left")
            return
        # the result's shape is the same before and after the other operands are stretched: a second run says the same
        sizes = f"operand {stretch.operand} {value.shape} to {result}"
        yield Assume(
            stretch.operand, f"{node.op} '{_lasting_name(node)}' never stretches an unknown size of {sizes}", "GF103"
        )
        if "yes" in stretch.axes:
            yield replace(stretch, code="GF102")


def _unless_lower(node: Node, edit: Edit) -> Edit:
    """Return the edit; instead of a stretch that would change a known rank, return a finding."""
    if not (isinstance(edit, Stretch) and edit.to.ranked):
        return edit
    rank, whole = node.operand(edit.operand).shape.rank, edit.to.rank
    if rank == whole:
        return edit
    reason = f"its rank is {rank}, and the result has rank {whole}: it can be stretched after equalize-ranks lifts it"
    return Leave(edit.operand, reason, edit.code, "left")


def _without_lifts(node: Node, edits: Sequence[Edit]) -> Sequence[Edit]:
    """What is done of a stretch by a shape that stays one: it aligns its operand from the right."""
    form = operators.stretch_form(node.domain, node.op)
    if form is None or form.by != "shape" or any(isinstance(edit, Fold) for edit in edits):
        return edits
    return [edit for edit in edits if not isinstance(edit, Lift)]


def _unless_fused(node: Node, edit: Edit, kept: Fusions | None) -> Edit:
    """Leave an operand as it is where a fusion that is kept matches its shape."""
    if kept is None or not isinstance(edit, (Lift, Stretch)):
        return edit
    if isinstance(edit, Lift):
        name = kept.fused(node, edit.operand, "rank")
    else:
        name = kept.fused(node, edit.operand, "sizes", _read_when_run(edit))
    return edit if name is None else Leave(edit.operand, fused_into(name, node.operand(edit.operand)), edit.code)


def unless_fused(plans: Plans, fusions: Mapping[Graph, Mapping[int, Fusions]]) -> Plans:
    """Leave nodes as they are where what they read is to be folded, and a fusion that is kept matches its shape.

    What stays for one of its readers stays for all: nothing would be saved.
    """
    chosen = [(node, _fused_or(node, edits, fusions[node.graph].get(node.index))) for node, edits in plans]
    staying: set[Value] = set()
    for (node, edits), (_, after) in zip(plans, chosen, strict=True):
        if after is not edits:
            staying |= _freed(node, edits)
    while staying:
        further: set[Value] = set()
        for at, (node, edits) in enumerate(chosen):
            freed = _freed(node, edits)
            if not staying.isdisjoint(freed):
                chosen[at] = node, ()
                further |= freed - staying
        staying = further
    return [(node, edits) for node, edits in chosen if edits]


def _freed(node: Node, edits: Sequence[Edit]) -> set[Value]:
    """What a node is no longer to read, itself or in front of what quantizes its operands."""
    if all(isinstance(edit, Leave) for edit in edits):
        return set()
    carried = {carried_from(value)[1] for value in node.operands if value is not None and is_carried(value)}
    return carried | {node.operand(edit.operand) for edit in edits if isinstance(edit, Bypass)}


def _fused_or(node: Node, edits: Sequence[Edit], kept: Fusions | None) -> Sequence[Edit]:
    """The edits of a node, or why it is left."""
    for edit in edits if kept is not None else ():
        if kept is not None and isinstance(edit, (Bypass, Restate)):
            value = node.operand(edit.operand)
            after = edit.source.shape if isinstance(edit, Bypass) else edit.to
            name = kept.fused(node, edit.operand, "rank" if _differ_in_rank(value.shape, after) else "sizes")
            if name is not None:
                return [Leave(edit.operand, fused_into(name, value), edit.code)]
    return edits


def _differ_in_rank(one: Shape, two: Shape) -> bool:
    """Whether unit axes in front are all that two shapes differ in."""
    if not (one.ranked and two.ranked):
        return False
    rank = max(one.rank, two.rank)
    return same_shape(with_rank(one, rank), with_rank(two, rank))


def fused_into(name: str, value: Value) -> str:
    """The reason why an operand that is part of a fusion is left."""
    what = "constant" if value.kind == "constant" else "operand"
    return f"onnxruntime fuses this into {name} by this {what}'s shape (--keep-fusions)"


def _read_when_run(stretch: Stretch) -> Collection[int]:
    """Which operands' run-time shapes a stretch reads: none where the sizes are known."""
    if stretch.to.static:
        return ()
    parts = [part for whole in stretch.by for part in (whole if isinstance(whole, tuple) else (whole,))]
    return {part[0] if isinstance(part, tuple) else part for part in parts}


def _bytes(node: Node, stretch: Stretch) -> int:
    digits = "".join(filter(str.isdigit, node.operand(stretch.operand).dtype))
    return prod(stretch.to.numbers) * max(int(digits or 8) // 8, 1)


def _result(node: Node) -> Shape | None:
    alignment = align(node)
    return alignment.result if alignment is not None else None


def _lasting_name(node: Node) -> str:
    """The name, or the first result's: the place of a node without a name is another one once nodes were added."""
    result = node.results[0] if node.results else None
    return node.name or (result.name if result is not None else node.label)

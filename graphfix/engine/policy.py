"""Apply the user's choices about broadcasts to the edits that a rewrite plans for one node.

`equalize-ranks` and `materialize-broadcasts` plan every edit that is possible. This module then drops edits, in this
order: by `--keep-fusions`, by `--broadcasts two-sided`, by `--unknown`. With `--broadcasts keep` no stretch is planned
at all. A stretch of an operand that was not lifted becomes a finding, because it would change a known rank. The plans
of other rewrites are required by the target, so no option changes them.
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
"""Nodes with the edits that are planned for each."""
EQUALIZE, NORMALIZE, FOLD = "equalize-ranks", "normalize-expand", "fold-broadcasts"


@dataclass(frozen=True, slots=True)
class Policy:
    """The choices of the user or the target about the rewrites of broadcasts."""

    broadcasts: Broadcasts = "explicit"
    unknown: Unknown = "expand"
    keep_fusions: bool = False
    folds: bool = False
    """Whether `fold-broadcasts` runs too. It removes a lift in front of an Expand that aligns its operand by itself."""
    movement: Collection[str] | None = None
    """The operators by which the target allows stretches to be written; they are not replaced. None: all operators."""

    def edits(self, rewrite: Rewrite, node: Node, kept: Fusions | None = None) -> Sequence[Edit]:
        """Return the edits of one node after the choices were applied.

        `kept` are the fusions that must not be broken. Raises what the plan raises (Undecided, Incompatible), and
        GraphfixError for `--unknown error`.
        """
        if rewrite.name == NORMALIZE and self._expands and is_run_time_form(node):
            return [Leave(0, "its rank is known only at run time, where it takes the shape of another value", "GF104")]
        if rewrite.name == NORMALIZE:
            return self._normalized(node, list(rewrite.plan(node)))
        if rewrite.name not in (EQUALIZE, MATERIALIZE):
            return list(rewrite.plan(node))
        if not (self._expands or has_ranks(node)):
            align(node)  # This call raises with the name of the operand whose rank is unknown.
        edits = [_unless_fused(node, edit, kept) for edit in rewrite.plan(node)]
        stretches = [edit for edit in edits if isinstance(edit, Stretch)]
        others = [edit for edit in edits if not isinstance(edit, Stretch)]
        wanted = (edit for stretch in self._two_sided(node, stretches) for edit in self._known(node, stretch))
        return [*others, *(_unless_lower(node, edit) for edit in wanted)]

    def _normalized(self, node: Node, edits: Sequence[Edit]) -> Sequence[Edit]:
        """Return the edits of `normalize-expand` without those of an operator that the target accepts as it is."""
        if self.movement is not None and node.op in self.movement:
            edits = [edit for edit in edits if not isinstance(edit, Canonicalize)]
        return _without_lifts(node, edits) if self.folds else edits

    @property
    def _expands(self) -> bool:
        """Return whether an undecided stretch is written as a run-time Expand, which also aligns ranks."""
        return self.broadcasts != "keep" and self.unknown == "expand"

    @property
    def left_out(self) -> Collection[str]:
        """Return the names of the rewrites whose edits would all be dropped."""
        return (MATERIALIZE,) if self.broadcasts == "keep" else ()

    def fusions(self, rewrite: Rewrite | ModelRewrite, graph: Graph) -> Mapping[int, Fusions]:
        """Return by index of a node the fusions of `graph` that the rewrite must keep.

        The mapping is empty without `--keep-fusions`.
        """
        if not (self.keep_fusions and rewrite.name in (EQUALIZE, MATERIALIZE, FOLD)):
            return {}
        from graphfix.targets.onnxruntime.matching import find

        return find(graph)

    def _two_sided(self, node: Node, stretches: Sequence[Stretch]) -> Sequence[Stretch]:
        """Return the stretches to carry out for `two-sided`: all but the most expensive one.

        Then the operator itself repeats at most one operand. Without `two-sided`, all stretches are returned.
        """
        if self.broadcasts != "two-sided" or not all(stretch.to.ranked for stretch in stretches):
            return stretches
        if len(stretches) <= 1:
            return []
        unknown = not all(stretch.to.static and "maybe" not in stretch.axes for stretch in stretches)
        # Without elements nothing is saved, and some kernels fail on an empty operand that they stretch themselves.
        if unknown or any(0 in stretch.to.dims for stretch in stretches):
            return stretches
        costs = {stretch.operand: (_bytes(node, stretch), stretch.operand) for stretch in stretches}
        return sorted(stretches, key=lambda stretch: costs[stretch.operand])[:-1]

    def _known(self, node: Node, stretch: Stretch) -> Iterator[Edit]:
        """Yield the edits for a stretch, by `--unknown` if only a run decides whether the operand is stretched."""
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
        # The text has the result's shape, which the edits of other operands do not change. So a second run gives the
        # same text.
        sizes = f"operand {stretch.operand} {value.shape} to {result}"
        yield Assume(
            stretch.operand, f"{node.op} '{_lasting_name(node)}' never stretches an unknown size of {sizes}", "GF103"
        )
        if "yes" in stretch.axes:
            yield replace(stretch, code="GF102")


def _unless_lower(node: Node, edit: Edit) -> Edit:
    """Return the edit, or a finding instead of a stretch that would change a known rank."""
    if not (isinstance(edit, Stretch) and edit.to.ranked):
        return edit
    rank, new_rank = node.operand(edit.operand).shape.rank, edit.to.rank
    if rank == new_rank:
        return edit
    reason = (
        f"its rank is {rank}, and the result has rank {new_rank}: it can be stretched after equalize-ranks lifts it"
    )
    return Leave(edit.operand, reason, edit.code, "left")


def _without_lifts(node: Node, edits: Sequence[Edit]) -> Sequence[Edit]:
    """Return the edits without lifts of an operand that an operator such as Expand aligns from the right itself.

    If the operator itself is folded, the edits are returned unchanged.
    """
    form = operators.stretch_form(node.domain, node.op)
    if form is None or form.by != "shape" or any(isinstance(edit, Fold) for edit in edits):
        return edits
    return [edit for edit in edits if not isinstance(edit, Lift)]


def _unless_fused(node: Node, edit: Edit, kept: Fusions | None) -> Edit:
    """Return the edit, or a `Leave` if a kept fusion matches the operand's shape."""
    if kept is None or not isinstance(edit, (Lift, Stretch)):
        return edit
    if isinstance(edit, Lift):
        name = kept.fused(node, edit.operand, "rank")
    else:
        name = kept.fused(node, edit.operand, "sizes", _read_when_run(edit))
    return edit if name is None else Leave(edit.operand, fused_into(name, node.operand(edit.operand)), edit.code)


def unless_fused(plans: Plans, fusions: Mapping[Graph, Mapping[int, Fusions]]) -> Plans:
    """Return the plans without nodes whose folded operands a kept fusion matches by shape.

    If a value stays for one of its readers, it stays for all, because removing it for some readers saves nothing.
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
    """Return the values that a node no longer reads after its edits.

    Values in front of a quantization of its operands are included.
    """
    if all(isinstance(edit, Leave) for edit in edits):
        return set()
    carried = {carried_from(value)[1] for value in node.operands if value is not None and is_carried(value)}
    return carried | {node.operand(edit.operand) for edit in edits if isinstance(edit, Bypass)}


def _fused_or(node: Node, edits: Sequence[Edit], kept: Fusions | None) -> Sequence[Edit]:
    """Return the edits of a node, or a single `Leave` if a kept fusion matches an operand that would change."""
    for edit in edits if kept is not None else ():
        if kept is not None and isinstance(edit, (Bypass, Restate)):
            value = node.operand(edit.operand)
            after = edit.source.shape if isinstance(edit, Bypass) else edit.to
            name = kept.fused(node, edit.operand, "rank" if _differ_in_rank(value.shape, after) else "sizes")
            if name is not None:
                return [Leave(edit.operand, fused_into(name, value), edit.code)]
    return edits


def _differ_in_rank(one: Shape, two: Shape) -> bool:
    """Return whether two shapes are equal except for leading unit axes; False if a rank is unknown."""
    if not (one.ranked and two.ranked):
        return False
    rank = max(one.rank, two.rank)
    return same_shape(with_rank(one, rank), with_rank(two, rank))


def fused_into(name: str, value: Value) -> str:
    """Return the reason why an operand that belongs to a fusion is left alone."""
    what = "constant" if value.kind == "constant" else "operand"
    return f"onnxruntime fuses this into {name} by this {what}'s shape (--keep-fusions)"


def _read_when_run(stretch: Stretch) -> Collection[int]:
    """Return the indices of the operands whose shapes a stretch reads at run time; empty if its sizes are numbers."""
    if stretch.to.static:
        return ()
    parts = [part for member in stretch.by for part in (member if isinstance(member, tuple) else (member,))]
    return {part[0] if isinstance(part, tuple) else part for part in parts}


def _bytes(node: Node, stretch: Stretch) -> int:
    digits = "".join(filter(str.isdigit, node.operand(stretch.operand).dtype))
    return prod(stretch.to.numbers) * max(int(digits or 8) // 8, 1)


def _result(node: Node) -> Shape | None:
    alignment = align(node)
    return alignment.result if alignment is not None else None


def _lasting_name(node: Node) -> str:
    """Return the node's name, or else its first result's name.

    The label of an unnamed node contains its index, which changes when nodes are added.
    """
    result = node.results[0] if node.results else None
    return node.name or (result.name if result is not None else node.label)

"""Explain why two nodes have no match: notes about nodes, and the first difference between their terms."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphfix.checker.proof.core.indexing_maps import reads_of
from graphfix.checker.proof.core.sizes import has_clash
from graphfix.checker.proof.core.terms import CONSTANTS, Core, ProofValue, TermTable
from graphfix.checker.proof.neutral.broadcast import broadcast_of
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphfix.checker.proof.core.indexing_maps import Note, Read
    from graphfix.checker.proof.core.result import Proof
    from graphfix.checker.proof.core.sizes import Algebra
    from graphfix.checker.proof.neutral.broadcast import Broadcast

OPERAND = "operand"
INPUTS = frozenset({"input", "parameter"})
CONSTANT_TERMS = CONSTANTS | {"sparse"}
MAY_BE_VIEWS = frozenset(
    "Reshape Unsqueeze Squeeze Flatten Expand Tile RESHAPE EXPAND_DIMS SQUEEZE BROADCAST_TO TILE"
    " STABLEHLO_BROADCAST_IN_DIM".split()
)
"""Data-movement operators. If they only add, drop or stretch unit axes, no term is created for them."""


@dataclass(slots=True, eq=False)
class Notes:
    """The notes about requested nodes, in the order in which the nodes were read."""

    wanted: frozenset[int] | None = None
    """The numbers of cores whose nodes are requested.

    None requests every node that broadcasts, as `proving.maps` does.
    """
    taken: list[Note] = field(default_factory=list)
    makers: dict[int, Note] = field(default_factory=dict)
    """The notes of the nodes that computed the requested cores, by the number of the core."""

    def take(self, results: Sequence[ProofValue | None], before: int, note: Callable[[], Note]) -> None:
        """Store a note about the node with these results, if the node is requested. `note` creates it.

        `before` is the number of cores before the node was read: a result with a lower number was made by an earlier
        node.
        """
        if self.wanted is None:
            made = note()
            if made.isolated is not None:
                self.taken.append(made)
            return
        found = {view.core.number for view in results if view is not None and view.core.number >= before} & self.wanted
        for number in found - self.makers.keys():
            self.makers[number] = note()

    def forget(self, count: int) -> None:
        """Drop all notes in `taken` but the first `count`, because a body is read again with values of other shapes."""
        del self.taken[count:]


def isolated(algebra: Algebra, views: Sequence[ProofValue | None]) -> tuple[TermTable, list[ProofValue | None]]:
    """Return a new table and, for each operand, a new value of the operand's sizes whose core represents the operand.

    The maps of a node over these values are the node's own maps. The table is separate, so that nothing is added to the
    terms that the proof compares.
    """
    seen: list[ProofValue | None] = []
    for index, view in enumerate(views):
        if view is None:
            seen.append(None)
            continue
        core = Core((OPERAND, index), index, f"operand {index}", must_match=False)
        core.sizes = view.sizes
        seen.append(ProofValue(core, None if view.sizes is None else tuple(range(len(view.sizes))), view.sizes))
    return TermTable(algebra), seen


def explained(proof: Proof, notes: Notes) -> Proof:
    """Return the proof, with the difference between the two unmatched nodes in its reason, and with their maps.

    `notes` were made when the files were read again.
    """
    one, two = (None if number is None else notes.makers.get(number) for number in proof.cores)
    why = None if two is None else (None if one is None else difference(one, two)) or not_a_view(two)
    reason = proof.reason if why is None else f"{proof.reason}: {why}"
    nodes = None if one is None else reads_of(one), None if two is None else reads_of(two)
    return replace(proof, reason=reason, nodes=nodes)


def difference(one: Note, two: Note) -> str | None:
    """Return how a node of the first file and a node of the second file differ, as a phrase for a report.

    Return None if the operators differ and they read different values.
    """
    if one.op != two.op:
        same = list(map(_core, one.operands)) == list(map(_core, two.operands))
        return f"the operator is {one.op} before, {two.op} after" if same else None
    found = _parts(one, two) or _values(one, two) or _views(one, two) or _maps(one, two) or _spaces(one, two)
    return found or "what its bodies return or declare, how many results it has, or its way of computing is another"


def not_a_view(note: Note) -> str | None:
    """Return that a data-movement operator may change more than unit axes, as a phrase; None for other operators."""
    if note.op not in MAY_BE_VIEWS:
        return None
    moved = ", ".join(f"{name}{_listed(view)}" for name, view in zip(note.names[0], note.operands, strict=False))
    return f"it is not known to add, drop or stretch unit axes alone ({moved})"


def _listed(view: ProofValue | None) -> str:
    """Return the shape of a value, printed; for a vector of known integers, return those: ` = [1, 2]`."""
    return f" = {list(view.content)}" if view is not None and view.content is not None else _shape(view)


def _parts(one: Note, two: Note) -> str | None:
    """Return how the nodes differ in attributes, options or types, which are compared by name; None if they do not."""
    for name in [*one.parts, *(name for name in two.parts if name not in one.parts)]:
        mine, other = one.parts.get(name), two.parts.get(name)
        if mine is None:
            return f"{name} is given after only ({other[1]})" if other is not None else None
        if other is None:
            return f"{name} is given before only ({mine[1]})"
        if mine[0] != other[0]:
            same = "" if mine[1] == other[1] else f": {mine[1]} before, {other[1]} after"
            return f"{name} is another{same}"
    return None


def _values(one: Note, two: Note) -> str | None:
    """Return how the nodes differ in the cores that they read, whatever the maps; None if they read the same cores."""
    if len(one.operands) != len(two.operands):
        return f"{len(one.operands)} operands are given before, {len(two.operands)} after"
    pairs = list(zip(one.operands, two.operands, strict=True))
    others = [index for index, (mine, other) in enumerate(pairs) if _core(mine) is not _core(other)]
    if not others:
        return None
    first = others[0]
    swapped = [index for index in others[1:] if _crossed(pairs[first], pairs[index])]
    if swapped:
        return f"operands {first} and {swapped[0]} are swapped"
    return _value(first, *pairs[first])


def _crossed(
    pair: tuple[ProofValue | None, ProofValue | None], other: tuple[ProofValue | None, ProofValue | None]
) -> bool:
    """Return whether the first file's operand of each pair is the second file's operand of the other pair."""
    return _core(pair[0]) is _core(other[1]) and _core(pair[1]) is _core(other[0])


def _core(view: ProofValue | None) -> Core | None:
    return None if view is None else view.core


def _value(index: int, mine: ProofValue | None, other: ProofValue | None) -> str:
    """Return how an operand differs between the two files.

    `mine` is that of the first file, `other` that of the second.
    """
    if mine is None or other is None:
        return f"operand {index} is given {'after' if mine is None else 'before'} only"
    constants = [view.core.key[0] in CONSTANT_TERMS for view in (mine, other)]
    if all(constants) and mine.core.key[1:3] == other.core.key[1:3]:
        return f"operand {index}, the constant {other.core.description!r}, has the same type and shape and other bytes"
    return f"operand {index} is another value: {producer_phrase(mine)} before, {producer_phrase(other)} after"


def producer_phrase(view: ProofValue) -> str:
    """Return a phrase for the core of a value, such as `a result of Add 'n3'` or `input 'x'`."""
    kind = view.core.key[0]
    if kind in INPUTS:
        return view.core.description
    return (
        f"the constant {view.core.description!r}" if kind in CONSTANT_TERMS else f"a result of {view.core.description}"
    )


def _views(one: Note, two: Note) -> str | None:
    """Return how the nodes differ in the shapes of their operands; None if both broadcast or nothing differs."""
    if _broadcast(one) is not None and _broadcast(two) is not None:
        return None
    for index, (mine, other) in enumerate(zip(one.operands, two.operands, strict=True)):
        if mine != other and _shape(mine) == _shape(other):
            return f"operand {index} is stretched by another shape, or along other axes"
        if mine != other:
            return f"operand {index} has another shape: {_shape(mine)} before, {_shape(other)} after"
    return None


def _maps(one: Note, two: Note) -> str | None:
    """Return a phrase about an operand that the nodes read by different maps; None if all printed maps are equal.

    Return None also if a node does not broadcast. Printed maps may be equal although the maps differ: a constant that
    is stretched to no elements has no axis to follow. In that case the sizes of the operands differ.
    """
    mine, other = _broadcast(one), _broadcast(two)
    if mine is None or other is None:
        return None
    differing = [place for place, (axes, after) in enumerate(zip(mine[1], other[1], strict=False)) if axes != after]
    if not differing:
        return None
    reads = reads_of(one).reads or (), reads_of(two).reads or ()
    if any(map(has_clash, other[2])):
        return f"sizes meet that do not fit: {list(mine[2])} before, {list(other[2])} after"
    pairs = [(reads[0][place], reads[1][place]) for place in differing if place < min(map(len, reads))]
    if not pairs:
        return "its operands follow other axes"
    return next((_other_map(one, *pair) for pair in pairs if pair[0].is_identity != pair[1].is_identity), None)


def _other_map(one: Note, ours: Read, theirs: Read) -> str:
    """Return a phrase with the two different maps by which the nodes read one operand."""
    view = one.operands[ours.operand]
    what = "" if view is None else f" ({producer_phrase(view)})"
    return f"operand {ours.operand}{what} is read by another map: {ours.is_identity} before, {theirs.is_identity} after"


def _spaces(one: Note, two: Note) -> str | None:
    """Return how the sizes of the two iteration spaces differ.

    Return None if both are printed alike, or if a node does not broadcast.
    """
    mine, other = _broadcast(one), _broadcast(two)
    if mine is None or other is None or mine[2] == other[2]:
        return None
    before, after = (str(list(each[2])) for each in (mine, other))
    return f"other sizes meet: {before} before, {after} after" if before != after else None


def _broadcast(note: Note) -> Broadcast | None:
    """Return the cores, maps and space of the node's first result; None if the node does not broadcast."""
    view = note.results[0] if note.results else None
    return None if view is None else broadcast_of(view.core)


def _shape(view: ProofValue | None) -> str:
    """Return the sizes of a value, printed as a list; `[*]` if they are unknown."""
    return "[*]" if view is None or view.sizes is None else str(list(view.sizes))

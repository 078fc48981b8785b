"""What a proof ends with: proved, or the first pair of nodes that have no match, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from graphfix.checker.proof.explain import given_by, unseen
from graphfix.checker.proof.explain import unlike as difference
from graphfix.checker.proof.indexing_maps import reads_of
from graphfix.checker.proof.terms import Core, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphfix.checker.proof.indexing_maps import Reads
    from graphfix.checker.proof.notes import Notes
    from graphfix.checker.proof.terms import Table, View

SIDES = ("before", "after")


STORED_SHAPES = "the stored shapes of the first file's tensors"
"""What a proof of TFLite models leans on, unless LiteRT allocates the same."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What the proof found."""

    status: str
    """`proved` or `not proved`."""
    reason: str | None = None
    """Why it is not proved."""
    before: str | None = None
    """The first node of the first file that has no match, and of the second."""
    after: str | None = None
    cores: tuple[int | None, int | None] = (None, None)
    """The numbers of what these two give, by which their nodes are found when the files are read again."""
    nodes: tuple[Reads | None, Reads | None] = (None, None)
    """The two with their operands and maps."""
    assumes: tuple[str, ...] = ()
    """What it leans on that the files only state."""

    @property
    def proved(self) -> bool:
        """Whether the two files are equal for all inputs, under what is assumed."""
        return self.status == "proved"

    def document(self, seconds: float) -> Mapping[str, object]:
        """Give the proof as the JSON document shows it."""
        first: dict[str, object] | None = None
        if self.before is not None or self.after is not None:
            nodes = {which: node and node.document() for which, node in zip(SIDES, self.nodes, strict=True)}
            first = {"before": self.before, "after": self.after, "nodes": nodes}
        return MappingProxyType(
            {
                "status": self.status,
                "reason": self.reason,
                "first": first,
                "assumes": list(self.assumes),
                "seconds": round(seconds, 6),
            }
        )


class UnprovedError(Exception):
    """The two files differ in what no node computes, or one can't be read as a whole: the reason."""


def concluded(table: Table, outputs: Sequence[tuple[str, View, View]], assumes: Sequence[str]) -> Proof:
    """Say whether each output is one term, and every operator of the second file one of the first."""
    if table.foreign:
        theirs = table.foreign[0]
        reason = f"{theirs.told} of the second file has no match in the first"
        ours = _counterpart(table, theirs)
        before, number = (None, None) if ours is None else (ours.told, ours.number)
        return Proof("not proved", reason, before, theirs.told, (number, theirs.number))
    for name, one, two in outputs:
        if one != two:
            return Proof("not proved", f"the output {name!r} {_otherwise(one, two)}", shown(one), shown(two))
    unseen = table.unseen()
    if unseen is not None:
        return Proof("not proved", f"only the second file needs sizes to fit: {unseen}")
    return Proof("proved", assumes=tuple(assumes))


def _otherwise(one: View, two: View) -> str:
    if one.core is not two.core:
        return f"is another value: {given_by(one)} before, {given_by(two)} after"
    return f"is {given_by(one)} before and after, in another shape or along other axes"


def explained(proof: Proof, notes: Notes) -> Proof:
    """Say in what the two nodes differ, which were noted when the files were read again."""
    one, two = (None if number is None else notes.makers.get(number) for number in proof.cores)
    why = None if two is None else (None if one is None else difference(one, two)) or unseen(two)
    reason = proof.reason if why is None else f"{proof.reason}: {why}"
    nodes = None if one is None else reads_of(one), None if two is None else reads_of(two)
    return replace(proof, reason=reason, nodes=nodes)


def _counterpart(table: Table, theirs: Core) -> Core | None:
    """Find the operator that only the first file has: of the same kind, then the one that reads most of the same."""
    foreign = set(table.foreign)
    missing = [core for core in table.cores.values() if core.counted and not core.touched and core not in foreign]
    alike = [core for core in missing if _kind(core) == _kind(theirs)]
    read = set(_read(theirs.key))
    return max(alike or missing, key=lambda core: len(read & set(_read(core.key))), default=None)


def _read(key: tuple[object, ...]) -> Iterator[Core]:
    """Give every term that a term is made of."""
    for part in key:
        if isinstance(part, Core):
            yield part
        elif isinstance(part, tuple):
            yield from _read(part)


def _kind(core: Core) -> object:
    """Name the operator of a term."""
    operator = core.key[1]
    while isinstance(operator, tuple) and operator and isinstance(operator[0], tuple):
        operator = operator[0]
    return operator[:2] if isinstance(operator, tuple) else core.key[1:3]

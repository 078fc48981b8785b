"""What a proof ends with: proved, or the first pair of nodes that have no match, and why."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from graphfix.verify.proof.terms import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.verify.proof.terms import Core, Table, View


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
    assumes: tuple[str, ...] = ()
    """What it leans on that the files only state."""

    @property
    def proved(self) -> bool:
        """Whether the two files are equal for all inputs, under what is assumed."""
        return self.status == "proved"

    def document(self, seconds: float) -> Mapping[str, object]:
        """Give the proof as the JSON document shows it."""
        first = None if self.before is None and self.after is None else {"before": self.before, "after": self.after}
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
        return Proof("not proved", reason, _counterpart(table, theirs), theirs.told)
    for name, one, two in outputs:
        if one != two:
            return Proof("not proved", f"the output {name!r} is another value", shown(one), shown(two))
    unseen = table.unseen()
    if unseen is not None:
        return Proof("not proved", f"only the second file needs sizes to fit: {unseen}")
    return Proof("proved", assumes=tuple(assumes))


def _counterpart(table: Table, theirs: Core) -> str | None:
    """Name the first operator that only the first file has: one of the same kind, if there is one."""
    foreign = set(table.foreign)
    missing = [core for core in table.cores.values() if core.counted and not core.touched and core not in foreign]
    alike = [core for core in missing if _kind(core) == _kind(theirs)]
    return (alike or missing)[0].told if missing else None


def _kind(core: Core) -> object:
    """Name the rule by which a term was made, and its operator."""
    rule, operator = core.key[:2]
    return (rule, operator[:2]) if isinstance(operator, tuple) else core.key[:3]

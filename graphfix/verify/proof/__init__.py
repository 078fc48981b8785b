"""Prove two models equal for all inputs and all sizes: both are read into one table of terms, and compared there."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from graphfix.results import GraphfixError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from graphfix.verify.proof.terms import Table, View


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
    def document(self) -> Mapping[str, object]:
        """Give the proof as the JSON document shows it."""
        first = None if self.before is None and self.after is None else {"before": self.before, "after": self.after}
        return MappingProxyType(
            {"status": self.status, "reason": self.reason, "first": first, "assumes": list(self.assumes)}
        )


class UnlikeError(Exception):
    """The two files differ in what no node computes: the reason."""


_NO_NUMBERS: Mapping[str, int] = MappingProxyType({})
_NO_SHAPES: Mapping[str, Sequence[int]] = MappingProxyType({})


def prove(
    before: Path,
    after: Path,
    *,
    bindings: Mapping[str, int] = _NO_NUMBERS,
    shapes: Mapping[str, Sequence[int]] = _NO_SHAPES,
    tflite: bool = False,
) -> Proof:
    """Compare two files of one format. No runtime is asked, and no payload is in memory as a whole.

    What can't be read is not proved, with the reason; only an unreadable file raises GraphfixError.
    """
    try:
        with ExitStack() as stack:
            if tflite:
                from graphfix.verify.proof.tflite_models import compared as compared_tflite

                return compared_tflite(before, after, stack)
            from graphfix.verify.proof.onnx_models import compared

            return compared(before, after, stack, bindings, shapes)
    except UnlikeError as unlike:
        return Proof("not proved", str(unlike))
    except RecursionError:
        return Proof("not proved", "the model is nested too deeply")


def verdict(table: Table, outputs: Sequence[tuple[str, View, View]], assumes: Sequence[str]) -> Proof:
    """Say whether each output is one term, and every operator of the second file one of the first."""
    unlike = [name for name, one, two in outputs if one != two]
    if not unlike and not table.foreign:
        return Proof("proved", assumes=tuple(assumes))
    theirs = table.foreign[0] if table.foreign else None
    first = _counterpart(table, theirs.key) if theirs is not None else None
    if theirs is None:
        name, one, two = next(entry for entry in outputs if entry[1] != entry[2])
        from graphfix.verify.proof.terms import shown

        return Proof("not proved", f"the output {name!r} is another value", shown(one), shown(two))
    reason = f"{theirs.told} of the second file is not found in the first"
    return Proof("not proved", reason, first, theirs.told)


def _counterpart(table: Table, key: tuple[object, ...]) -> str | None:
    """Name the first operator of the first file that the second file does not have: of the same kind, if there is one."""
    from graphfix.verify.proof.terms import Core

    def kind(of: tuple[object, ...]) -> object:
        return of[:3]

    missing: list[Core] = [
        core for core in table.cores.values() if core.counted and not core.touched and core not in table.foreign[:1]
    ]
    foreign = set(table.foreign)
    missing = [core for core in missing if core not in foreign]
    alike = [core for core in missing if kind(core.key) == kind(key)]
    return (alike or missing)[0].told if missing else None


__all__ = ["GraphfixError", "Proof", "UnlikeError", "prove"]

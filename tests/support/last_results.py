"""The results of a file's nodes as the proof reads them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from graphfix.checker.files.pair import Pair
from graphfix.checker.proof.onnx.compare import note_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from graphfix.checker.proof.core.terms import ProofValue, TermTable

    Results = Sequence[ProofValue | None]


class _Seen:
    """The results of each node that was read."""

    def __init__(self) -> None:
        self.taken: list[Results] = []

    def take(self, results: Results, _before: int, _note: object) -> None:
        self.taken.append(results)


def every_result(path: Path) -> tuple[list[Results], TermTable]:
    """Return the results of each node of an ONNX file, and the table of their terms. Raises UnprovedError."""
    seen = _Seen()
    with ExitStack() as stack:
        table = note_nodes(Pair(path, path), stack, seen)  # type: ignore[arg-type]  # takes what is noted
    return seen.taken, table


def last_results(path: Path) -> tuple[Results, TermTable]:
    """Return the results of the last node, and the table of all terms. Raises UnprovedError."""
    taken, table = every_result(path)
    return taken[-1], table

"""The results of a file's last node as the proof reads them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from graphfix.checker.proof.onnx.compare import note_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from graphfix.checker.proof.terms import TermTable, View


class _Last:
    """Keeps the results of the node that was read last."""

    def __init__(self) -> None:
        self.views: Sequence[View | None] = ()

    def take(self, results: Sequence[View | None], _before: int, _note: object) -> None:
        self.views = results


def last_results(path: Path) -> tuple[Sequence[View | None], TermTable]:
    """Return the results of the last node of an ONNX file, and the table of its terms. Raises UnprovedError."""
    last = _Last()
    with ExitStack() as stack:
        table = note_nodes(path, stack, {}, {}, last)  # type: ignore[arg-type]  # takes what is noted
    return last.views, table

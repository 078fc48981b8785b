"""Compare the claims of the page about graphfix and other tools with the results of the zoo's ONNX models."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from peers.catalogue import FLOOR, ONNX
from peers.record import Cell, Results, Row

MINE = "graphfix explicit"
OTHERS = ("onnxslim", "onnxsim", "onnxsim API")
PART = 5
MOST = 1.3


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim: its text, whether it is true, and the figure that decides this."""

    said: str
    holds: bool
    figure: str

    @property
    def line(self) -> str:
        """Return the claim, whether it is true, and the figure, in one line."""
        return f"{self.said}: {'it holds' if self.holds else 'it does not hold'}; {self.figure}"


def claims(results: Results) -> list[Claim]:
    """Return the claims for which the results contain measured models of the zoo."""
    rows = [row for row in results.rows if row.group == "zoo" and row.format == ONNX and _done(row.cells, MINE)]
    found = [
        claim
        for other in OTHERS
        for claim in (
            _each(rows, other, f"at most a fifth of {other}'s time on each model", _seconds, 1 / PART, "of its time"),
            _each(rows, other, f"less memory than {other} on each model", _memory, 1, "of its memory"),
        )
    ]
    floor = [row for row in rows if _done(row.cells, FLOOR[ONNX])]
    if floor:
        ratio = statistics.median(_ratio(row.cells, FLOOR[ONNX], _seconds) for row in floor)
        said = f"at most {MOST} times onnx's own load and save, the median of {len(floor)} models"
        found.append(Claim(said, ratio <= MOST, f"{ratio:.2f} times"))
    return [claim for claim in found if claim is not None]


def _each(
    rows: Sequence[Row], other: str, said: str, of: Callable[[Cell], float], limit: float, unit: str
) -> Claim | None:
    """Return the claim that for each model graphfix's figure is at most `limit` times the other tool's figure.

    Return None if the other tool has no results. `of` reads the figure from a cell, `said` is the claim's text, and
    `unit` is the text behind a figure.
    """
    ratios = {row.model: _ratio(row.cells, other, of) for row in rows if _done(row.cells, other)}
    if not ratios:
        return None
    beyond = sorted((name for name, ratio in ratios.items() if ratio > limit), key=lambda name: -ratios[name])
    worst = max(ratios, key=lambda name: ratios[name])
    share = f"{len(ratios) - len(beyond)} of {len(ratios)} models"
    middle = statistics.median(ratios.values())
    figure = f"{share}, the most is {ratios[worst]:.2f} {unit} ({worst}), the median {middle:.2f}"
    return Claim(said, not beyond, figure)


def _done(cells: Mapping[str, Cell], name: str) -> bool:
    """Return whether the tool `name` has runs and no failure."""
    return name in cells and not cells[name].failure and bool(cells[name].runs)


def _ratio(cells: Mapping[str, Cell], other: str, of: Callable[[Cell], float]) -> float:
    """Return graphfix's figure divided by the other tool's figure."""
    return of(cells[MINE]) / of(cells[other])


def _seconds(cell: Cell) -> float:
    """Return the median seconds of a cell."""
    return cell.seconds or 0.0


def _memory(cell: Cell) -> float:
    """Return the median peak of a cell in MiB."""
    return cell.mib or 0.0

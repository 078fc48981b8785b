"""The summary: what each peer takes and leaves over the zoo of a format, one row a peer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from peers import tables
from peers.catalogue import FLOOR, Peer
from peers.record import Cell, Row

HEADS = (
    "tool",
    "models done",
    "seconds",
    "times load + save",
    "processor seconds",
    "MiB",
    "equal",
    "not equal",
    "does not load",
    "other ranks left",
    "stretched left",
)
FIGURES = (1, 2, 3, 4, 8, 9)
"""The columns in which less is better, from the second on; in the others nothing is set in bold."""


@dataclass(frozen=True, slots=True)
class Line:
    """A peer over all models of a zoo: medians of what it takes, sums of what it leaves where its results are run."""

    peer: Peer
    figures: tuple[float | None, ...]
    texts: tuple[str, ...]


def summary(rows: Sequence[Row]) -> list[str]:
    """Return the table; what is left is counted on the models that every peer's result runs for."""
    lines = [line(peer, rows) for peer in tables.of_format(rows[0].format) if any(peer.name in r.cells for r in rows)]
    able = [each.peer.works for each in lines]
    least = {at: tables.best([each.figures[at] for each in lines], able) for at in FIGURES}
    written = [["the original", *original(rows)]]
    for each in lines:
        cells = [tables.bold(text, each.figures[at], least.get(at)) for at, text in enumerate(each.texts)]
        written.append([each.peer.name, *cells])
    return tables.table(HEADS, written)


def line(peer: Peer, rows: Sequence[Row]) -> Line:
    """Sum up one peer."""
    cells = [(row, row.cells[peer.name]) for row in rows if peer.name in row.cells]
    done = [(row, cell) for row, cell in cells if not cell.failure]
    ratios = [_ratio(row, cell) for row, cell in done]
    qualities = [cell.quality for _, cell in done if cell.quality and (row_runs := cell.quality) and row_runs]
    seen = [each for each in qualities if each.ranks is not None]
    figures: tuple[float | None, ...] = (
        len(done),
        tables.median(cell.seconds for _, cell in done),
        tables.median(ratios),
        tables.median(cell.cpu for _, cell in done),
        tables.median(cell.mib for _, cell in done),
        sum(each.equal is True for each in qualities),
        sum(each.equal is False for each in qualities),
        sum(not each.loads and not each.reason.startswith("the original") for each in qualities),
        sum(each.ranks or 0 for each in seen) if seen else None,
        sum(each.stretched or 0 for each in seen) if seen else None,
    )
    forms = ("{:.0f}", "{:.2f}", "{:.2f}", "{:.2f}", "{:.0f}", "{:.0f}", "{:.0f}", "{:.0f}", "{:.0f}", "{:.0f}")
    texts = tuple("" if each is None else form.format(each) for each, form in zip(figures, forms, strict=True))
    return Line(peer, figures, (f"{len(done)} of {len(cells)}", *texts[1:]))


def original(rows: Sequence[Row]) -> list[str]:
    """What the models are before anything is done."""
    seen = [row.original for row in rows if row.original and row.original.ranks is not None]
    sums = [str(sum(each.ranks or 0 for each in seen)), str(sum(each.stretched or 0 for each in seen))]
    return [str(len(rows)), *[""] * 7, *sums]


def _ratio(row: Row, cell: Cell) -> float | None:
    floor = row.cells.get(FLOOR[row.format])
    return cell.seconds / floor.seconds if floor and floor.seconds and cell.seconds else None

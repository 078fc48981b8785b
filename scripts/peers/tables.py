"""The tables of the page: a row a model, a column a peer, the best of each line in bold."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from peers.catalogue import FLOOR, PEERS, Peer
from peers.record import MIB, Cell, Quality, Row

Shown = Callable[[Cell, Row], str]
Weight = Callable[[Cell], float | None]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table in markdown: the first column is text, the others are figures."""
    lines = [_line(heads), _line(["---", *(["---:"] * (len(heads) - 1))])]
    return [*lines, *(_line([cell.replace("|", "\\|") for cell in row]) for row in rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def of_format(format_: str) -> list[Peer]:
    """Return the peers that take a format."""
    return [peer for peer in PEERS if format_ in peer.formats]


def bold(texts: Sequence[str], figures: Sequence[float | None], able: Sequence[bool]) -> list[str]:
    """Set in bold what has the least figure of those that may win."""
    weights = [figure if may else None for figure, may in zip(figures, able, strict=True)]
    least = min((weight for weight in weights if weight is not None), default=None)
    won = [weight is not None and weight == least for weight in weights]
    return [f"**{text}**" if best and text else text for text, best in zip(texts, won, strict=True)]


def by_model(rows: Sequence[Row], weight: Weight, shown: Shown) -> list[str]:
    """Return a table of one measure: blank where a peer is not installed, `fails` where it did not end well."""
    peers = of_format(rows[0].format)
    return table(["model", *(peer.name for peer in peers)], (_cells(row, peers, weight, shown) for row in rows))


def _cells(row: Row, peers: Sequence[Peer], weight: Weight, shown: Shown) -> list[str]:
    cells = [row.cells.get(peer.name) for peer in peers]
    figures = [None if cell is None or cell.failure else weight(cell) for cell in cells]
    texts = ["" if cell is None else "fails" if cell.failure else shown(cell, row) for cell in cells]
    return [row.model, *bold(texts, figures, [peer.works for peer in peers])]


def seconds(cell: Cell, row: Row) -> str:
    """`0.31 (1.2)`: the median, and how many times the format's own load and save that is."""
    floor = row.cells.get(FLOOR[row.format])
    if cell.seconds is None:
        return ""
    ratio = f" ({cell.seconds / floor.seconds:.1f})" if floor and floor.seconds else ""
    return f"{cell.seconds:.2f}{ratio}"


def cpu(cell: Cell, _: Row) -> str:
    """Median seconds of the processors."""
    return "" if cell.cpu is None else f"{cell.cpu:.2f}"


def memory(cell: Cell, _: Row) -> str:
    """Median peak in MiB."""
    return "" if cell.mib is None else f"{cell.mib:.0f}"


def written(cell: Cell, _: Row) -> str:
    """MiB of the files that a tool wrote."""
    return f"{cell.bytes / MIB:.1f}"


def left(cell: Cell) -> float | None:
    """Return what is implicit still, where the result is equal: what may be best."""
    quality = cell.quality
    if quality is None or not quality.equal or quality.ranks is None or quality.stretched is None:
        return None
    return quality.ranks + quality.stretched


def became(cell: Cell, _: Row) -> str:
    """`equal, 3, 12`: what the runs said, and what is implicit still: operands of another rank, stretched operands."""
    return "" if cell.quality is None else outcome(cell.quality)


def outcome(quality: Quality) -> str:
    """Say one quality in a cell."""
    if not quality.loads:
        slow = quality.reason.startswith("its run takes longer")
        return "no original" if original_fails(quality) else "not run in time" if slow else "does not run"
    said = "equal" if quality.equal else "not equal"
    return f"{said}, {_number(quality.ranks)}, {_number(quality.stretched)}"


def original_fails(quality: Quality) -> bool:
    """Whether the runtime does not take the original: nothing is said of the result."""
    return quality.reason.startswith("the original")


def _number(count: int | None) -> str:
    return "?" if count is None else str(count)


def median(values: Iterable[float | None]) -> float | None:
    """Return the median of what is there."""
    there = [value for value in values if value is not None]
    return statistics.median(there) if there else None


def plain(said: str) -> str:
    """What a tool said, as text that markdown leaves alone."""
    return f"`{said.replace('`', chr(39))}`"

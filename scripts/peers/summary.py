"""The summary: what each peer takes and leaves over the zoo of a format, one row a peer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from peers import tables
from peers.catalogue import FLOOR, Peer
from peers.record import Cell, Quality, Row

HEADS = (
    "tool",
    "models done",
    "seconds",
    "times load + save",
    "processor seconds",
    "MiB",
    "equal",
    "not equal",
    "does not run",
    "other ranks left",
    "stretched left",
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a tool: how it is written, and what it weighs where less is better; None: nobody is best in it."""

    text: str = ""
    weight: float | None = None


def summary(rows: Sequence[Row]) -> list[str]:
    """Return the table: medians of what each tool takes, and sums of what it leaves."""
    peers = [peer for peer in tables.of_format(rows[0].format) if any(peer.name in row.cells for row in rows)]
    lines = [figures(peer, rows) for peer in peers]
    able = [peer.works for peer in peers]
    columns = [
        tables.bold([each.text for each in column], [each.weight for each in column], able)
        for column in zip(*lines, strict=True)
    ]
    return tables.table(HEADS, zip([peer.name for peer in peers], *columns, strict=True))


def figures(peer: Peer, rows: Sequence[Row]) -> list[Figure]:
    """Sum up one tool."""
    asked = [row for row in rows if peer.name in row.cells]
    done = [row for row in asked if not row.cells[peer.name].failure]
    cells = [row.cells[peer.name] for row in done]
    qualities = [cell.quality for cell in cells if cell.quality]
    equal = sum(each.equal is True for each in qualities)
    return [
        Figure(f"{len(done)} of {len(asked)}"),
        _median([cell.seconds for cell in cells], "{:.2f}"),
        _median([_ratio(row, row.cells[peer.name]) for row in done], "{:.2f}"),
        _median([cell.cpu for cell in cells], "{:.2f}"),
        _median([cell.mib for cell in cells], "{:.0f}"),
        Figure(str(equal), -equal),
        Figure(str(sum(each.equal is False for each in qualities))),
        Figure(str(sum(not each.loads and not tables.original_fails(each) for each in qualities))),
        _left(done, peer, lambda quality: quality.ranks),
        _left(done, peer, lambda quality: quality.stretched),
    ]


def _median(values: Sequence[float | None], form: str) -> Figure:
    middle = tables.median(values)
    return Figure() if middle is None else Figure(form.format(middle), middle)


def _left(done: Sequence[Row], peer: Peer, of: Callable[[Quality], int | None]) -> Figure:
    """What is left of what the same models had, where both were observed."""
    qualities = [(row.cells[peer.name].quality, row.original) for row in done]
    pairs = [(of(mine), of(own)) for mine, own in qualities if mine and own]
    seen = [(after, before) for after, before in pairs if after is not None and before is not None]
    after, before = (sum(column) for column in zip(*seen, strict=True)) if seen else (0, 0)
    return Figure(f"{after} of {before}", after / before) if before else Figure()


def leaves(name: str, rows: Sequence[Row]) -> str:
    """Say of which operators the operands are that a tool leaves, the most frequent first."""
    total: Counter[str] = Counter()
    for row in rows:
        quality = row.cells[name].quality if name in row.cells else None
        total.update(quality.operators if quality else {})
    return ", ".join(f"{count} of {op}" for op, count in total.most_common())


def _ratio(row: Row, cell: Cell) -> float | None:
    floor = row.cells.get(FLOOR[row.format])
    return cell.seconds / floor.seconds if floor and floor.seconds and cell.seconds else None

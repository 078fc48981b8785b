"""The arithmetic and the tables of scripts/bench_inference.py."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ORIGINAL, AGAIN = "original", "original again"
END = "<!-- end -->"
Times = Mapping[str, Sequence[float]]
"""The seconds of each round, by the label of the variant."""


@dataclass(frozen=True)
class Cell:
    """The measurements of one variant of a model."""

    time: float | None = None
    """The time as a multiple of the original's time."""
    memory: float | None = None
    """The memory as a multiple of the original's memory."""
    operators: str = ""
    """The operators of which the runtime runs more or fewer than for the original, as in `-2 Expand`."""
    error: str = ""
    """Why the variant was not measured; empty if it was measured."""


@dataclass(frozen=True)
class Row:
    """The measurements of one model and its variants."""

    model: str
    milliseconds: float
    """The time of one inference of the original."""
    noise: float
    """The time of a second session of the original as a multiple of the first session's time."""
    cells: Mapping[str, Cell] = field(default_factory=dict)
    redundant: str = "-"
    """The rewrites of the target compact that changed the model, as a text."""
    error: str = ""
    """Why the original was not measured; empty if it was measured."""


def ratio(times: Times, name: str) -> float:
    """Return the median over the rounds of a variant's time divided by the original's time.

    A cause that slows down a whole round cancels out.
    """
    return statistics.median(
        own / original for own, original in zip(times[name], times[ORIGINAL], strict=True) if original
    )


def order(names: Sequence[str], turn: int) -> Sequence[str]:
    """Return the names in an order that differs by round, so that no name always follows the same other name.

    The start rotates with each round, and after each full rotation the direction changes.
    """
    turned = [*names[turn % len(names) :], *names[: turn % len(names)]]
    return turned[:: -1 if turn // len(names) % 2 else 1]


def difference(before: Counter[str], after: Counter[str]) -> str:
    """Return how many more or fewer of each operator there are, fewer first, as in `-2 Expand, +1 Mul`."""
    changes = {name: after[name] - before[name] for name in before.keys() | after.keys()}
    by_change = sorted((change, name) for name, change in changes.items() if change)
    return ", ".join(f"{change:+d} {name}" for change, name in by_change)


def table(rows: Sequence[Row], variants: Sequence[str]) -> list[str]:
    """Return the lines of the Markdown table, with the median and the worst of all models at its end."""
    heads = ["model", "original, ms", "original / original"]
    heads += [head for name in variants for head in (f"{name}: time", "memory", "operators that the runtime runs")]
    lines = [_line([*heads, "taken out by compact"]), "|" + " --- |" * (len(heads) + 1)]
    lines += [_model(row, variants) for row in rows]
    measured = [row for row in rows if not row.error]
    for name, of in (("median", statistics.median), ("worst", max)):
        if measured:
            lines.append(_summary(name, of, measured, variants))
    return lines


def _model(row: Row, variants: Sequence[str]) -> str:
    """Return a model's row of the table."""
    if row.error:
        return _line([row.model, row.error, "", *[""] * (3 * len(variants)), ""])
    cells = [row.model, f"{row.milliseconds:.2f}", f"{row.noise:.2f}"]
    for name in variants:
        cell = row.cells.get(name, Cell(error="not measured"))
        shown = [cell.error, "", ""] if cell.error else [_number(cell.time), _number(cell.memory), cell.operators]
        cells += shown
    return _line([*cells, row.redundant])


def _summary(name: str, of: Callable[[list[float]], float], rows: Sequence[Row], variants: Sequence[str]) -> str:
    # Noise makes the quotient larger or smaller than 1, so the worst is the largest distance from 1 in both directions.
    """Return a last row of the table, where `of` computes the median or the worst over all models."""
    noise = of([max(row.noise, 1 / row.noise) for row in rows]) if name == "worst" else of([row.noise for row in rows])
    cells = [f"**{name}** of {len(rows)}", "", f"{noise:.2f}"]
    for variant in variants:
        shown_cells = [row.cells[variant] for row in rows if variant in row.cells]
        times = [cell.time for cell in shown_cells if cell.time is not None]
        memory = [cell.memory for cell in shown_cells if cell.memory is not None]
        cells += [f"{of(each):.2f}" if each else "" for each in (times, memory)] + [""]
    return _line([*cells, ""])


def worst(rows: Sequence[Row], variants: Sequence[str]) -> str:
    """Return one line: for each variant the largest quotient of the time with its model, and then the largest noise."""
    parts = []
    for name in variants:
        timed = [(row.cells[name].time or 0.0, row.model) for row in rows if name in row.cells and row.cells[name].time]
        parts += [f"{name} {max(timed)[0]:.2f} ({max(timed)[1]})"] if timed else []
    noise = [max(row.noise, 1 / row.noise) for row in rows if not row.error]
    return "; ".join([*parts, *([f"original / original {max(noise):.2f}"] if noise else [])])


def _number(value: float | None) -> str:
    """Return the number with two decimals, or an empty text for None."""
    return "" if value is None else f"{value:.2f}"


def _line(cells: Sequence[str]) -> str:
    """Return the cells as a row of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def write(path: Path, kind: str, text: str) -> None:
    """Write the text between this script's markers of `kind` in a file.

    A missing file or missing markers are created.
    """
    start = f"<!-- bench_inference {kind} -->"
    page = path.read_text(encoding="utf-8") if path.exists() else ""
    if start not in page:
        page += f"{chr(10) if page else ''}{start}\n{END}\n"
    before, _, behind = page.partition(start)
    _, _, rest = behind.partition(END)
    path.write_text(f"{before}{start}\n{text}\n{END}{rest}", encoding="utf-8")

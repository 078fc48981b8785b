"""The arithmetic and the tables of bench_inference.py (not run by itself)."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ORIGINAL, AGAIN = "original", "original again"
END = "<!-- end -->"
Times = Mapping[str, Sequence[float]]
"""By what is run: the seconds of each round."""


@dataclass(frozen=True)
class Cell:
    """What was measured of a variant of a model."""

    time: float | None = None
    """Times the original's."""
    memory: float | None = None
    """Times the original's."""
    operators: str = ""
    """What the runtime runs more or fewer of."""
    error: str = ""
    """Why there is nothing to be measured."""


@dataclass(frozen=True)
class Row:
    """What was measured of a model."""

    model: str
    milliseconds: float
    """Of one inference of the original."""
    noise: float
    """The original's second session, times the first's."""
    cells: Mapping[str, Cell] = field(default_factory=dict)
    redundant: str = "-"
    """What target compact took out of it."""
    error: str = ""
    """Why the original can't be measured."""


def ratio(times: Times, name: str) -> float:
    """Return the median of the rounds' quotients by the original: what slows a whole round down cancels out."""
    return statistics.median(
        own / original for own, original in zip(times[name], times[ORIGINAL], strict=True) if original
    )


def order(names: Sequence[str], turn: int) -> Sequence[str]:
    """Rotate by the round, and go backwards every other time: nobody always follows the same one."""
    turned = [*names[turn % len(names) :], *names[: turn % len(names)]]
    return turned[:: -1 if turn // len(names) % 2 else 1]


def difference(before: Counter[str], after: Counter[str]) -> str:
    """Return what there is more and fewer of, fewer first."""
    changes = {name: after[name] - before[name] for name in before.keys() | after.keys()}
    by_change = sorted((change, name) for name, change in changes.items() if change)
    return ", ".join(f"{change:+d} {name}" for change, name in by_change)


def table(rows: Sequence[Row], variants: Sequence[str]) -> list[str]:
    """Return the lines of the Markdown table, with the summary at its end."""
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
    if row.error:
        return _line([row.model, row.error, "", *[""] * (3 * len(variants)), ""])
    cells = [row.model, f"{row.milliseconds:.2f}", f"{row.noise:.2f}"]
    for name in variants:
        cell = row.cells.get(name, Cell(error="not measured"))
        shown = [cell.error, "", ""] if cell.error else [_number(cell.time), _number(cell.memory), cell.operators]
        cells += shown
    return _line([*cells, row.redundant])


def _summary(name: str, of: Callable[[list[float]], float], rows: Sequence[Row], variants: Sequence[str]) -> str:
    # the noise of one machine is on both sides of 1
    noise = of([max(row.noise, 1 / row.noise) for row in rows]) if name == "worst" else of([row.noise for row in rows])
    cells = [f"**{name}** of {len(rows)}", "", f"{noise:.2f}"]
    for variant in variants:
        shown_cells = [row.cells[variant] for row in rows if variant in row.cells]
        times = [cell.time for cell in shown_cells if cell.time is not None]
        memory = [cell.memory for cell in shown_cells if cell.memory is not None]
        cells += [f"{of(each):.2f}" if each else "" for each in (times, memory)] + [""]
    return _line([*cells, ""])


def worst(rows: Sequence[Row], variants: Sequence[str]) -> str:
    """Return one line: the largest quotient of each variant, with its model, and how noisy it was."""
    parts = []
    for name in variants:
        timed = [(row.cells[name].time or 0.0, row.model) for row in rows if name in row.cells and row.cells[name].time]
        parts += [f"{name} {max(timed)[0]:.2f} ({max(timed)[1]})"] if timed else []
    noise = [max(row.noise, 1 / row.noise) for row in rows if not row.error]
    return "; ".join([*parts, *([f"original / original {max(noise):.2f}"] if noise else [])])


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def write(path: Path, kind: str, text: str) -> None:
    """Put the text between this script's markers in a file; a file or markers that are not there are made."""
    start = f"<!-- bench_inference {kind} -->"
    page = path.read_text(encoding="utf-8") if path.exists() else ""
    if start not in page:
        page += f"{chr(10) if page else ''}{start}\n{END}\n"
    before, _, behind = page.partition(start)
    _, _, rest = behind.partition(END)
    path.write_text(f"{before}{start}\n{text}\n{END}{rest}", encoding="utf-8")

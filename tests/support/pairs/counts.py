"""Counts of pairs by the kind of their change: how many were tried, loaded, proved, run, and wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

COLUMNS = ("tried", "loaded", "proved", "run", "wrong")
"""`loaded`: the first file loads and runs somewhere. `run`: the second file was run beside it."""


@dataclass
class Counts:
    """By (kind, column) a number."""

    numbers: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, kind: str, *columns: str) -> None:
        """One pair more in each of the columns."""
        self.numbers.update((kind, column) for column in columns)

    def update(self, other: Counts) -> None:
        """All of another count."""
        self.numbers.update(other.numbers)

    def total(self, column: str) -> int:
        """The sum over all kinds."""
        return sum(number for (_, of), number in self.numbers.items() if of == column)

    @property
    def kinds(self) -> list[str]:
        """The kinds, by name."""
        return sorted({kind for kind, _ in self.numbers})

    def table(self) -> str:
        """A Markdown table: a row a kind, and their sum."""
        rows = [[kind, *(str(self.numbers[kind, column]) for column in COLUMNS)] for kind in self.kinds]
        rows.append(["all", *(str(self.total(column)) for column in COLUMNS)])
        lines = [["kind", *COLUMNS], ["---"] * (len(COLUMNS) + 1), *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

"""Print a batch: one line for each model with its result in a word, and the totals at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from graphfix.report.colour import Paint, Style, plain
from graphfix.report.text import Entry, Failure, counted, findings, printable
from graphfix.results import Outcome
from graphfix.results.records import dataclass, field

WIDTH = len("contradicted")
"""The width of the column of result words, in characters."""
STYLES: Mapping[str, Style] = MappingProxyType(
    {
        **dict.fromkeys(("written", "unchanged", "clean", "converted", "agrees"), "good"),
        **dict.fromkeys(("failed", "different", "contradicted", "differs", "unpredictable", "refused"), "bad"),
    }
)
"""By result word: whether it is good or bad. Any other word is printed as a doubt."""


def word(entry: Entry) -> str:
    """Return the result of a model in a word: `written`, `unchanged` (a copy), `clean`, `findings`, `converted` ..

    `failed`.
    """
    if isinstance(entry, Failure):
        return "failed"
    if entry.conversion is not None:
        return entry.conversion.status
    if entry.command == "check":
        return "findings" if findings(entry) else "clean"
    if entry.output is not None:
        return "written" if entry.changed else "unchanged"
    return entry.verdict.status if entry.verdict is not None else "undecided"


def detail(entry: Entry) -> str:
    """Return a detail of the result.

    It is the number of findings, the status of the verification, or why the process was stopped. Return "" if there is
    no detail.
    """
    if isinstance(entry, Failure):
        return "" if entry.kind == "error" else entry.kind
    if entry.command == "check":
        return str(len(findings(entry)) or "")
    if entry.command == "fix" and entry.output is not None and entry.verdict is not None:
        left = f", {entry.sites_left} left" * bool(entry.sites_left)
        return f"{'not verified' if entry.verdict.status == 'skipped' else entry.verdict.status}{left}"
    return ""


@dataclass(frozen=True, slots=True)
class Line:
    """The line that is printed for one model. It stays small, however many sites the model has."""

    name: str
    word: str
    detail: str
    reused: bool
    seconds: float

    @classmethod
    def of(cls, name: str, entry: Entry, seconds: float) -> Line:
        """Return the line for the result of a model; `seconds` is the time that the model took."""
        return cls(name, word(entry), detail(entry), isinstance(entry, Outcome) and entry.reused, seconds)

    def text(self, paint: Paint = plain) -> str:
        """Return the line, such as `written 0.84 s models/encoder.onnx: proved, reused`."""
        details = ", ".join([*filter(None, (self.detail,)), *["reused"] * self.reused])
        column = paint(self.word, STYLES.get(self.word, "doubt")) + " " * (WIDTH - len(self.word))
        return f"{column} {self.seconds:8.2f} s  {printable(self.name)}{': ' * bool(details)}{details}"


@dataclass(slots=True)
class Tally:
    """The totals of a batch."""

    words: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    """For failed models: by the kind of failure (time, memory ..), the number of models."""
    reused: int = 0

    def add(self, line: Line) -> None:
        """Count one model."""
        self.words[line.word] += 1
        self.reused += line.reused
        if line.word == "failed" and line.detail:
            self.kinds[line.detail] += 1

    @property
    def models(self) -> int:
        """Return the number of counted models."""
        return self.words.total()

    def text(self, seconds: float) -> str:
        """Return the last line of a batch that took `seconds`.

        Example: `9 models: 7 written, 2 failed (1 time); 3 of them reused; 4.50 s, 2.00 models a second`.
        """
        words = ", ".join(f"{number} {said}{self._why(said)}" for said, number in self.words.most_common())
        reused = f"; {self.reused} of them reused" * bool(self.reused)
        rate = f"; {seconds:.2f} s, {self.models / max(seconds, 1e-9):.2f} models a second"
        return f"{counted(self.models, 'model')}{': ' * bool(words)}{words}{reused}{rate}"

    def _why(self, said: str) -> str:
        return f" ({', '.join(f'{number} {kind}' for kind, number in self.kinds.items())})" * (
            said == "failed" and bool(self.kinds)
        )

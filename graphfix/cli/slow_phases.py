"""Print a line on stderr for each phase of a command that takes long, if no progress bar is drawn."""

from __future__ import annotations

import _thread  # `threading` takes a millisecond to import, and few commands run long enough to need a line
import sys
import time
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Self

from graphfix.report.text import printable
from graphfix.results.progress import PHASES_OF_RUNS, Notice
from graphfix.results.records import dataclass, field

LONG = 10.0
"""Seconds after which a phase is reported."""
SHORTER: Mapping[str, str] = MappingProxyType(
    {
        "fix": "--runs N limits the runs, --no-verify makes none",
        "verify": "--runs N limits the runs, --proof-only makes none",
        "tosa": "--no-verify leaves out the runs of the rewritten model",
    }
)
"""By command: the options that shorten the phases in which models run."""
TIME_LIMIT = "--time-limit SECONDS ends a model earlier"
"""The option that shortens a batch, whatever its command is."""
LOOKS = 10
"""The number of checks in `LONG` seconds."""


@dataclass(slots=True)
class SlowPhases:
    """A progress callback for one command. A background thread prints a line for each long phase.

    Phases are identified by their text. The seconds of phases with the same text are added up, because two phases may
    alternate. Each text is printed at most once.
    """

    subject: str
    """The model or the command, printed at the beginning of each line."""
    command: str = ""
    """The command whose options may shorten the runs; empty for none."""
    _is_hinted: bool = False
    """Whether a line has already listed these options."""
    _phase: tuple[str, float] = ("", 0.0)
    """The text of the current phase, and when it began."""
    _earlier: dict[str, float] = field(default_factory=dict)
    """By text of a phase: the seconds of its earlier occurrences."""
    _printed: set[str] = field(default_factory=set)
    _over: _thread.LockType = field(default_factory=_thread.allocate_lock)

    def __enter__(self) -> Self:
        self._over.acquire()
        _thread.start_new_thread(self._watch, ())
        return self

    def __exit__(self, *_: object) -> None:
        self._over.release()

    def __call__(self, text: str, _done: int = 0, _total: int = 0, /) -> None:
        """Begin a phase, or print a notice."""
        if isinstance(text, Notice):
            notices(text)
            return
        before, since = self._phase
        if text != before:
            now = time.monotonic()
            self._earlier[before] = self._earlier.get(before, 0.0) + now - since
            self._phase = (text, now)

    def _watch(self) -> None:
        while not self._over.acquire(timeout=LONG / LOOKS):
            self._look()
        self._over.release()

    def _look(self) -> None:
        text, since = self._phase
        seconds = self._earlier.get(text, 0.0) + time.monotonic() - since
        if text and seconds >= LONG and text not in self._printed:
            self._printed.add(text)
            _print(f"{self.subject}: {text}", seconds, self._hint(text))

    def _hint(self, text: str) -> str:
        """Return the options that shorten runs, for the first long phase with runs; "" for any other phase."""
        if self._is_hinted or not text.startswith(PHASES_OF_RUNS) or self.command not in SHORTER:
            return ""
        self._is_hinted = True
        return f"; {SHORTER[self.command]}"


@dataclass(slots=True)
class SlowModels:
    """Prints a line for each model of a batch that takes long. Several models are processed at the same time."""

    command: str = ""
    """The command of the batch whose options may shorten the runs; empty if no model runs."""
    _is_hinted: bool = False
    """Whether a line has already listed these options."""
    _begun: dict[str, float] = field(default_factory=dict)
    """By model in work: when it was first seen."""
    _printed: set[str] = field(default_factory=set)

    def look(self, names: Iterable[str], done: str) -> None:
        """Print a line for each model in `names` that takes long; `done` is a text about the batch's progress."""
        now = time.monotonic()
        self._begun = {name: self._begun.get(name, now) for name in names}
        self._printed.intersection_update(self._begun)
        for name, since in self._begun.items():
            if now - since >= LONG and name not in self._printed:
                self._printed.add(name)
                _print(f"{name}: not finished, {done}", now - since, self._hint())

    def _hint(self) -> str:
        """Return the options that shorten a batch, for the first line; "" for any other line."""
        if self._is_hinted:
            return ""
        self._is_hinted = True
        shorter = [SHORTER[self.command]] if self.command in SHORTER else []
        return f"; {', '.join([*shorter, TIME_LIMIT])}"


def _print(text: str, seconds: float, hint: str = "") -> None:
    print(f"graphfix: {printable(text)} ({seconds:.0f} s so far){hint}", file=sys.stderr, flush=True)


def notices(text: str, _done: int = 0, _total: int = 0, /) -> None:
    """Print `text` on stderr if it is a notice; ignore the texts of steps."""
    if isinstance(text, Notice):
        print(f"graphfix: {printable(text)}", file=sys.stderr, flush=True)

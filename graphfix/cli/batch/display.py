"""What is told of a batch while it runs: how far it is, how fast, and what is worked on."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

from graphfix.batch.jobs.job import Finished
from graphfix.cli.slow_phases import SlowModels
from graphfix.report.batch import Line
from graphfix.report.text import counted, cut
from graphfix.results.progress import Progress
from graphfix.results.records import dataclass, field

RECENT = 100
"""Models of whose ends the rate is made: at first a batch that goes on has many that are done already."""
SOON = 0.2
"""Seconds: who runs what is asked no more often, of a cluster by its scheduler."""
SHOWN, LETTERS = 2, 24
"""How many names of models that are worked on are shown, and how much of each."""


@dataclass(slots=True)
class Display:
    """Lines of `-v`, a bar, or a line for a model that takes long."""

    progress: Progress | None
    total: int
    running: Callable[[], Sequence[str]]
    in_lines: bool
    """Whether each model gets a line as it ends; else there is a bar."""
    slow: SlowModels | None = None
    """Prints the lines for models that take long; None if a bar is drawn or nothing is printed."""
    done: int = 0
    last_shown: float = 0.0
    """When something was said last."""
    ends: deque[float] = field(default_factory=lambda: deque([time.monotonic()], RECENT))

    def finished(self, finished: Finished) -> None:
        """Count a model that is done, in whatever order."""
        self.done += 1
        self.ends.append(time.monotonic())
        if self.progress is not None and self.in_lines:
            line = Line.of(finished.job.model, finished.entry, finished.seconds)
            self.progress(line.text(), self.done, self.total)
        else:
            self.tick()

    def tick(self) -> None:
        """Say where it is, unless that was said just now."""
        now = time.monotonic()
        if self.progress is None or self.in_lines or now - self.last_shown <= SOON:
            return
        self.last_shown = now
        if self.slow is not None:
            self.slow.look(self.running(), f"{self.done} of {counted(self.total, 'model')} done")
        else:
            self.progress(self._text(now), self.done, self.total)

    def _text(self, now: float) -> str:
        """`2.1 a second, 95 s left: a.onnx, b.onnx and 2 more`."""
        running = self.running()
        names = ", ".join(cut(name.rpartition("/")[2], LETTERS) for name in running[:SHOWN])
        more = f" and {len(running) - SHOWN} more" * (len(running) > SHOWN)
        rate = (len(self.ends) - 1) / max(now - self.ends[0], 1e-9)
        left = f", {_span((self.total - self.done) / rate)} left" if rate else ""
        return f"{rate:.2g} a second{left}: {names or 'waiting'}{more}"


def _span(seconds: float) -> str:
    """`95 s`, `2:05 h`."""
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 120 else f"{minutes // 60}:{minutes % 60:02} h"  # noqa: PLR2004 -- two minutes

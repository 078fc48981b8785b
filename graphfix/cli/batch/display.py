"""Show the progress of a batch while it runs: finished models, rate, and the models in work."""

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
"""The number of latest models from whose times the rate is computed.

A batch that is continued begins with many models that are finished already.
"""
SOON = 0.2
"""Seconds between two updates. Each update of a cluster's batch asks the scheduler which models are in work."""
SHOWN, LETTERS = 2, 24
"""The most names of models in work that are shown, and the most characters of each."""


@dataclass(slots=True)
class Display:
    """The progress of a batch: lines with -v, a bar, or a line for each model that takes long."""

    progress: Progress | None
    total: int
    running: Callable[[], Sequence[str]]
    in_lines: bool
    """Whether each finished model gets a line; otherwise there is a bar."""
    slow: SlowModels | None = None
    """Prints the lines about models that take long; None if a bar is drawn or nothing is printed."""
    done: int = 0
    last_shown: float = 0.0
    """The time of the last update."""
    ends: deque[float] = field(default_factory=lambda: deque([time.monotonic()], RECENT))

    def finished(self, finished: Finished) -> None:
        """Count a finished model; models may finish in any order."""
        self.done += 1
        self.ends.append(time.monotonic())
        if self.progress is not None and self.in_lines:
            line = Line.of(finished.job.model, finished.entry, finished.seconds)
            self.progress(line.text(), self.done, self.total)
        else:
            self.tick()

    def tick(self) -> None:
        """Update the display, unless the last update was less than SOON seconds ago."""
        now = time.monotonic()
        if self.progress is None or self.in_lines or now - self.last_shown <= SOON:
            return
        self.last_shown = now
        if self.slow is not None:
            self.slow.look(self.running(), f"{self.done} of {counted(self.total, 'model')} done")
        else:
            self.progress(self._text(now), self.done, self.total)

    def _text(self, now: float) -> str:
        """Return `2.1 a second, 95 s left: a.onnx, b.onnx and 2 more`."""
        running = self.running()
        names = ", ".join(cut(name.rpartition("/")[2], LETTERS) for name in running[:SHOWN])
        more = f" and {len(running) - SHOWN} more" * (len(running) > SHOWN)
        rate = (len(self.ends) - 1) / max(now - self.ends[0], 1e-9)
        left = f", {_span((self.total - self.done) / rate)} left" if rate else ""
        return f"{rate:.2g} a second{left}: {names or 'waiting'}{more}"


def _span(seconds: float) -> str:
    """Return a duration: `95 s`, or from two minutes on `2:05 h`."""
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 120 else f"{minutes // 60}:{minutes % 60:02} h"  # noqa: PLR2004 -- two minutes

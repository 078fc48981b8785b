"""Show the progress of a long command on stderr: a bar that disappears at the end, or with -v a line for each step."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphfix.cli.slow_phases import notices
from graphfix.report.text import printable
from graphfix.results.progress import Notice, Progress
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from rich.progress import Progress as Display
    from rich.progress import TaskID

PATIENCE = 0.4
"""Seconds. A command that ends earlier shows no bar, and the bar's library is not imported."""


@contextlib.contextmanager
def lines_of_progress(start: float) -> Iterator[Progress]:
    """Print a line for each step, with the seconds since `start`.

    The time between two lines is the duration of a step.
    """

    def progress(text: str, done: int = 0, total: int = 0, /) -> None:
        count = f" ({done} of {total})" if total else ""
        print(f"graphfix: {time.monotonic() - start:7.2f} s  {printable(text)}{count}", file=sys.stderr, flush=True)

    yield progress
    progress("done")


@contextlib.contextmanager
def shown(what: str, *, color: bool) -> Iterator[Bar]:
    """Show a bar on the terminal, with the current step and the time; `what` is the text in front of it."""
    bar = Bar(printable(what), color=color)
    timer = threading.Timer(PATIENCE, bar.appear)
    timer.daemon = True
    timer.start()
    try:
        yield bar
    finally:
        timer.cancel()
        bar.vanish()


@dataclass(slots=True)
class Bar:
    """The progress bar. A timer lets it appear while the command works."""

    what: str
    color: bool
    started: float = field(default_factory=time.monotonic)
    state: tuple[str, int, int] = ("", 0, 0)
    gone: bool = False
    _display: tuple[Display, TaskID] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, text: str, done: int = 0, total: int = 0, /) -> None:
        """Record the current step; print a notice above the bar."""
        if isinstance(text, Notice):
            with self.aside():
                notices(text)
            return
        with self._lock:
            self.state = (printable(text), done, total)
            self._show()

    def appear(self) -> None:
        """Draw the bar from now on."""
        from rich import progress
        from rich.console import Console

        console = Console(file=sys.stderr, no_color=not self.color, highlight=False, markup=False, emoji=False)
        display = progress.Progress(
            progress.SpinnerColumn("line"),
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=20),
            progress.TextColumn("{task.fields[count]}", markup=False),
            progress.TimeElapsedColumn(),
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with self._lock:
            if self.gone:
                return
            self._display = (display, display.add_task(self.what, total=None, count=""))
            self._show()
            display.start()

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Hide the bar inside this context, so that printed lines stay above it."""
        with self._lock:
            display = self._display[0] if self._display is not None else None
            if display is not None:
                display.stop()
            try:
                yield
            finally:
                if display is not None:
                    display.start()

    def vanish(self) -> None:
        """Remove the bar; the terminal is as before."""
        with self._lock:
            self.gone = True
            if self._display is not None:
                self._display[0].stop()

    def _show(self) -> None:
        if self._display is None:
            return
        text, done, total = self.state
        display, task = self._display
        count = f"{done}/{total}" if total else ""
        described = f"{self.what}: {text}" if text else self.what
        display.update(task, description=described, completed=done, total=total or None, count=count)

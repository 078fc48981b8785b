"""Report the progress of a long command through a callback."""

from __future__ import annotations

from typing import Final, Protocol

RUNS_OF_FIRST: Final = "running the first model"
RUNS_OF_SECOND: Final = "running the second model"
RUNS_OF_BOTH: Final = "running both models"
PHASES_OF_RUNS: Final = (RUNS_OF_FIRST, RUNS_OF_SECOND, RUNS_OF_BOTH)
"""The beginnings of the texts of phases that run models; `--runs` and other options shorten these phases."""


class Progress(Protocol):
    """A callback for the progress of a command."""

    def __call__(self, text: str, done: int = 0, total: int = 0, /) -> None:
        """Show the phase `text`, of which `done` of `total` steps are done.

        `total` is 0 if the number of steps is unknown.
        """


class Notice(str):
    """A text that is shown even without a progress display.

    It is about a phase that takes long, or about work that is skipped because it would take long.
    """

    __slots__ = ()


def silent(_text: str, _done: int = 0, _total: int = 0, /) -> None:
    """Ignore the progress."""

"""What a long command says of itself while it runs."""

from __future__ import annotations

from typing import Final, Protocol

RUNS_OF_FIRST: Final = "running the first model"
RUNS_OF_SECOND: Final = "running the second model"
RUNS_OF_BOTH: Final = "running both models"
PHASES_OF_RUNS: Final = (RUNS_OF_FIRST, RUNS_OF_SECOND, RUNS_OF_BOTH)
"""The beginnings of the texts of phases that run models; `--runs` and other options shorten these phases."""


class Progress(Protocol):
    """Whoever watches."""

    def __call__(self, text: str, done: int = 0, total: int = 0, /) -> None:
        """What is done now, and how many of how many are; a total of 0 where that is not known."""


class Notice(str):
    """A text that is shown where nobody watches the steps, too: what takes long, and what is left out for that."""

    __slots__ = ()


def silent(_text: str, _done: int = 0, _total: int = 0, /) -> None:
    """Nobody watches."""

"""One model's part of a report: what was done with it, or why nothing could be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from graphfix.results import Outcome


@dataclass(frozen=True, slots=True)
class Failure:
    """A model that a command could not deal with (exit status 2)."""

    command: str
    model: str
    error: str
    """The line that stderr got, without the program's name."""


Entry: TypeAlias = Outcome | Failure

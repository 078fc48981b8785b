"""One model of a batch: what is to be done with it, within which limits, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal, TypeAlias

from graphfix.batch.stores import urls
from graphfix.engine.request import Request
from graphfix.report.text import Entry

Command: TypeAlias = Literal["fix", "check", "tosa"]


def output_name(name: str, command: Command) -> str | None:
    """What is written for the model of this name, below the folder of outputs; None where nothing is."""
    if command == "check":
        return None
    return str(PurePosixPath(name).with_suffix(".tosa")) if command == "tosa" else name


@dataclass(frozen=True, slots=True)
class Limits:
    """What the child process of one model may use."""

    seconds: float
    bytes: int | None = None
    """Of memory, it and what it starts together, mapped files not counted; None: what the machine has."""


@dataclass(frozen=True, slots=True)
class Job:
    """One model to be done. It is pickled, to be done elsewhere."""

    source: str = field(repr=False)
    """A path or a URL, perhaps with a query that gives access: a log of a worker shows none."""
    name: str
    """Where it lies below its source, with `/`: the output lies there below the batch's output."""
    output: str
    """The folder of the batch's outputs and records: a path or a URL."""
    command: Command
    request: Request
    limits: Limits
    again: bool = False
    """Whether it is done also where it was done before."""

    @property
    def model(self) -> str:
        """The source as reports name it."""
        return urls.shown(self.source)


@dataclass(frozen=True, slots=True)
class Finished:
    """What came of a job."""

    job: Job
    entry: Entry
    """What reports say of it: an outcome, or why there is none."""
    seconds: float
    """Wall-clock time, from the first byte that was fetched to the record."""

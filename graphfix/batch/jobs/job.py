"""The job for one model of a batch, its limits, and its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal, TypeAlias

from graphfix.batch.stores import urls
from graphfix.engine.request import Request
from graphfix.report.text import Entry

Command: TypeAlias = Literal["fix", "check", "tosa"]


def output_name(name: str, command: Command) -> str | None:
    """Return the path of the output below the batch's folder; None for `check`, which writes no model."""
    if command == "check":
        return None
    return str(PurePosixPath(name).with_suffix(".tosa")) if command == "tosa" else name


@dataclass(frozen=True, slots=True)
class Limits:
    """The resources that the child process of one model may use."""

    seconds: float
    bytes: int | None = None
    """Memory of the child and its own children, without mapped files; None: no limit besides the machine's memory."""


@dataclass(frozen=True, slots=True)
class Job:
    """The work on one model. It can be pickled, to be run on another machine."""

    source: str = field(repr=False)
    """A path or a URL. The URL may have a query with credentials, so `repr` omits it: workers log jobs."""
    name: str
    """The path of the model below its source, with `/`. The output has the same path below the batch's output."""
    output: str
    """The folder of the batch's outputs and records: a path or a URL."""
    command: Command
    request: Request
    limits: Limits
    again: bool = False
    """Whether to run the job even if a valid earlier result exists."""

    @property
    def model(self) -> str:
        """Return the source as reports show it, without credentials."""
        return urls.shown(self.source)


@dataclass(frozen=True, slots=True)
class Finished:
    """A job with its result."""

    job: Job
    entry: Entry
    """The outcome, or the failure."""
    seconds: float
    """Wall-clock time, from the first byte that was read to the written record."""

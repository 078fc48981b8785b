"""The settings that all models of a batch share. Jobs are made from them one by one, when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from graphfix.batch.jobs.job import Command, Job, Limits
from graphfix.batch.process import processors
from graphfix.batch.stores import addresses
from graphfix.engine.request import Request
from graphfix.runtimes import memory


@dataclass(frozen=True, slots=True)
class Orders:
    """The common settings of all jobs of a batch."""

    command: Command
    output: str
    """The folder of the results: a path or a URL."""
    seconds: float
    """The time limit of one model."""
    bytes: int | None
    """The memory limit of one model; None: an equal share of the machine's memory."""
    again: bool
    jobs: int | None
    """The number of models at once on this machine.

    None: one for each processor; 0: none, because a cluster does the work.
    """

    @property
    def threads(self) -> int:
        """Return the number of models that are processed at once on this machine."""
        return processors.available() if self.jobs is None else self.jobs

    def all_jobs(self, found: Sequence[tuple[str, str]], requested: Callable[[str], Request]) -> Iterator[Job]:
        """Yield a job for each source and its name, in order; `requested` returns the request for a source."""
        share = memory.available() // self.threads if self.threads else None
        limits = Limits(self.seconds, self.bytes if self.bytes is not None else share)
        output = self._place(self.output)
        for source, name in found:
            yield Job(self._place(source), name, output, self.command, requested(source), limits, self.again)

    def _place(self, place: str) -> str:
        """Return a path that is valid for processes with another working directory."""
        return place if self.threads or addresses.is_url(place) else str(addresses.local_path(place).absolute())

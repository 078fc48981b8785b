"""What is done with all models of a batch, and where: from it the jobs are made, one when it is needed."""

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
    """What all jobs of a batch have in common."""

    command: Command
    output: str
    """The folder of the results: a path or a URL."""
    seconds: float
    """How long one model may take."""
    bytes: int | None
    """How much memory one model may need; None: its part of what there is."""
    again: bool
    jobs: int | None
    """How many are done at once on this machine: None: one for each processor; 0: none, others do them."""

    @property
    def threads(self) -> int:
        """How many models are done at once here."""
        return processors.available() if self.jobs is None else self.jobs

    def all_jobs(self, found: Sequence[tuple[str, str]], requested: Callable[[str], Request]) -> Iterator[Job]:
        """A job for each source and its name, in order; `requested` says what is asked of a source."""
        share = memory.available() // self.threads if self.threads else None
        limits = Limits(self.seconds, self.bytes if self.bytes is not None else share)
        output = self._place(self.output)
        for source, name in found:
            yield Job(self._place(source), name, output, self.command, requested(source), limits, self.again)

    def _place(self, place: str) -> str:
        """A path that others, with another working folder, understand."""
        return place if self.threads or addresses.is_url(place) else str(addresses.local_path(place).absolute())

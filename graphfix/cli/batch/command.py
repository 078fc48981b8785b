"""Run the command `batch`: each model with its own options, in a process or on a worker; one line for each model.

At the end, one report about all models is written.
"""

from __future__ import annotations

import contextlib
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from graphfix.batch import sources
from graphfix.batch.jobs import executors, scratch
from graphfix.batch.jobs.batch_settings import Orders
from graphfix.batch.jobs.job import Command, Finished, Job
from graphfix.batch.jobs.run import Workers, run
from graphfix.cli import answers, terminal
from graphfix.cli.batch.display import Display
from graphfix.cli.batch.requests import Requests, refuse_options
from graphfix.cli.slow_phases import SlowModels
from graphfix.cli.status import DONE, WORST
from graphfix.formats.neutral import publish
from graphfix.report.batch import Line, Tally
from graphfix.report.table import unwritten
from graphfix.report.text import Entry, Failure, counted
from graphfix.results import Outcome
from graphfix.results.records import dataclass, field


@dataclass(frozen=True, slots=True)
class _Said:
    """The lines to print for a model, and its entry if a report needs it."""

    line: Line
    error: str | None
    trace: str
    """The traceback of an internal error if -v is set, else ""."""
    status: int
    entry: Entry | None
    note: str | None
    """A sentence about a model whose suffix is that of the other format."""


@dataclass(slots=True)
class _Answer:
    """The results of the batch so far."""

    options: Namespace
    tally: Tally = field(default_factory=Tally)
    entries: list[Entry] = field(default_factory=list)
    worst: int = DONE
    finished: int = 0
    """The number of finished models. The lines of some of them may wait for an earlier model."""

    @property
    def needs_entries(self) -> bool:
        """Return whether the entries of all models are stored until the end, for a report or for --json."""
        return bool(self.options.report or self.options.json)

    def said(self, finished: Finished) -> _Said:
        """Return the little that is stored of a finished model until its line can be printed."""
        self.finished += 1
        entry = finished.entry
        line = Line.of(finished.job.model, entry, finished.seconds)
        error, trace = (entry.error, entry.trace) if isinstance(entry, Failure) else (None, "")
        if not isinstance(entry, Failure) and answers.wrote_nothing(entry):
            error = unwritten(entry)
        status = answers.status(entry, strict=self.options.strict_proof)
        trace = trace if self.options.verbose else ""
        note = publish.misnamed_input(Path(entry.source), entry.format) if isinstance(entry, Outcome) else None
        return _Said(line, error, trace, status, entry if self.needs_entries else None, note)

    def add(self, said: _Said) -> None:
        """Print the line of a model, and count it."""
        self.tally.add(said.line)
        self.worst = max(self.worst, said.status, key=WORST.index)
        if said.entry is not None:
            self.entries.append(said.entry)
        if not (self.options.json or self.options.quiet):
            print(said.line.text(terminal.paint(self.options.color, sys.stdout)))
        if said.note is not None and not self.options.quiet:
            sys.stdout.flush()
            terminal.say(said.note, self.options.color, "aside")
        if said.error is not None:
            sys.stdout.flush()  # where both streams are one, the lines stay in order
            terminal.print_trace(said.trace)
            terminal.say(said.error, self.options.color)


def answer(options: Namespace) -> int:
    """Process the models of all sources and return the exit status. A model that fails does not stop the others."""
    begun = time.monotonic()
    command: Command = "tosa" if options.tosa else "check" if options.check else "fix"
    refuse_options(options, command)
    with terminal.one_phase(options, "batch", "listing the models"):
        found = sources.models(options.sources, options.exclude, options.output, command)
    requests = Requests.of(options, command, [source for source, _ in found])  # what is wrong is said before the work
    jobs = 0 if options.dask is not None else options.jobs
    orders = Orders(command, options.output, options.time_limit, options.memory_limit, options.again, jobs)
    answered = _Answer(options)
    with _workers(options, orders) as workers, scratch.locked(options.output), _accounted(answered, len(found)):
        _do(orders.all_jobs(found, requests.for_model), workers, answered, len(found), command)
    with _accounted(answered, len(found)):
        return _reported(options, answered, begun)


@contextlib.contextmanager
def _accounted(answered: _Answer, total: int) -> Iterator[None]:
    """Catch an interrupt of the body, and raise it again with a text about finished models and how to continue."""
    try:
        yield
    except KeyboardInterrupt as stop:
        done = f"{answered.finished} of {counted(total, 'model')} finished"
        stays = ", what is finished stays" if answered.finished else ""
        raise type(stop)(f"{done}{stays}; the same command does the rest") from None


def _reported(options: Namespace, answered: _Answer, begun: float) -> int:
    """Print the totals, write the reports, and return the exit status."""
    if not (options.json or options.quiet):
        print(answered.tally.text(time.monotonic() - begun))
    answers.write_reports(options, answered.entries)
    return answered.worst


def _do(jobs: Iterator[Job], workers: Workers, answered: _Answer, total: int, command: Command) -> None:
    options = answered.options
    slow = SlowModels(command if options.check_result else "") if terminal.is_unwatched(options) else None
    with terminal.watched(options, "batch") as progress:
        display = Display(progress, total, workers.running, options.verbose, slow)
        with contextlib.closing(run(jobs, workers, display, answered.said)) as all_said:
            for said in all_said:
                with terminal.lines(progress):
                    answered.add(said)


@contextlib.contextmanager
def _workers(options: Namespace, orders: Orders) -> Iterator[Workers]:
    """Return the workers that process the models: local threads, or a Dask cluster."""
    if options.dask is None:
        with executors.local(orders.threads) as threads:
            yield threads
        return
    from graphfix.batch.jobs import cluster

    with cluster.dask(options.dask, options.retries) as workers:
        if workers.waits() and not options.quiet:
            terminal.say(f"{options.dask}: no worker has joined yet: the models wait for one", options.color, "aside")
        yield workers

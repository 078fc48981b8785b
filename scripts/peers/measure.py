"""Time every peer on a model. The peers take turns in an order that rotates, and files are cached."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from peers import models
from peers.catalogue import OURS, Peer
from peers.clock import FailedError, timed
from peers.environments import Environment
from peers.quality import judged
from peers.record import Cell, Quality, Row, Run

SLOW = ((10.0, 0), (0.5, 3))
"""Pairs of seconds and runs. If the first run takes more than the seconds, at most so many further runs follow."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The request of the command line: the peers, the number of runs, the time limit, and the environments.

    `progress` is called with a line of progress.
    """

    peers: Sequence[Peer]
    runs: int
    limit: float
    """The time limit of one run, in seconds."""
    environments: Mapping[str, Environment]
    progress: Callable[[str], None]

    def present(self, format_: str) -> list[Peer]:
        """Return the peers of a format that are installed."""
        some = [peer for peer in self.peers if format_ in peer.formats]
        return [peer for peer in some if not self.environments[peer.environment].missing(peer)]


def order(names: Sequence[str], turn: int) -> list[str]:
    """Return the names in the order of this turn.

    The start rotates, and every second turn has the opposite direction.
    """
    start = turn // 2 % len(names)
    rotated = [*names[start:], *names[:start]]
    return rotated[:: 1 - turn % 2 * 2]


def turns(first: float, runs: int) -> int:
    """Return how many runs follow a peer's first run, which took `first` seconds. At most `runs` runs follow.

    If no run follows, the first run is the measurement.
    """
    return next((min(few, runs) for seconds, few in SLOW if first > seconds), runs)


def row(source: models.Source, asked: Asked, folder: Path) -> Row:
    """Measure one model in `folder`, and return its row of the tables.

    The first run of each peer fills the cache, and its result is compared with the original. A peer that fails in a
    later run keeps its figures, and its cell states the failure.
    """
    model = source.placed_in(folder, asked.environments[OURS].python)
    bench = _Bench(model, frozenset(each.name for each in folder.iterdir()), asked)
    cells, original = bench.first(source)
    runs: dict[str, list[Run]] = {name: [] for name, cell in cells.items() if not cell.failure}
    due = {name: turns(cells[name].runs[0].seconds, asked.runs) for name in runs}
    peer_by_name = {peer.name: peer for peer in asked.peers}
    for turn in range(asked.runs):
        asked.progress(f"{source.name}: turn {turn + 1} of {asked.runs}")
        for name in order([*runs], turn) if runs else ():
            if turn < due[name]:
                try:
                    runs[name].append(bench.run(peer_by_name[name], bench.output(0)))
                except FailedError as error:
                    cells[name] = replace(
                        cells[name], failure=f"not every time: {error}".replace(f"{bench.model.parent}/", "")
                    )
                bench.clear()
    cells |= {name: replace(cells[name], runs=tuple(each) or cells[name].runs) for name, each in runs.items()}
    return Row(source.name, source.format, source.group, models.size(model), cells, original)


@dataclass(frozen=True, slots=True)
class _Bench:
    """One model in a folder, from which all other new files are deleted after each run."""

    model: Path
    kept: frozenset[str]
    asked: Asked

    def output(self, number: int) -> Path:
        """Return the output file of the peer with this number.

        The file is beside the model, because external data is found relative to the model's folder.
        """
        return self.model.with_name(f"output-{number}{self.model.suffix}")

    def clear(self, besides: frozenset[str] = frozenset()) -> int:
        """Delete all files of the folder except those in `kept` and `besides`, and return their total size in bytes."""
        return models.clear(self.model.parent, self.kept | besides)

    def run(self, peer: Peer, output: Path) -> Run:
        """Run a peer once, and return the measurements. Raise FailedError if it fails or writes no model."""
        command = peer.command(self.asked.environments[peer.environment].python, self.model, output)
        run, _ = timed(command, self.asked.limit, self.model.parent)
        if not output.exists():
            raise FailedError("it wrote no model")
        return run

    def first(self, source: models.Source) -> tuple[dict[str, Cell], Quality | None]:
        """Run each installed peer once, and compare the results with the original.

        Return the cell of each peer, and the quality of the original. Results of a large model are deleted at once and
        not compared, so the quality is None.
        """
        cells: dict[str, Cell] = {}
        results: dict[str, Path] = {}
        large = models.size(self.model) > models.BIG
        for number, peer in enumerate(self.asked.present(source.format)):
            self.asked.progress(f"{source.name}: {peer.name}")
            written = frozenset(each.name for each in self.model.parent.iterdir())
            try:
                cells[peer.name] = Cell((self.run(peer, self.output(number)),))
            except FailedError as error:
                cells[peer.name] = Cell(failure=str(error).replace(f"{self.model.parent}/", ""))
                self.clear(written)
                continue
            new = [each for each in self.model.parent.iterdir() if each.name not in written]
            cells[peer.name] = replace(cells[peer.name], bytes=sum(each.stat().st_size for each in new))
            results[peer.name] = self.output(number)
            if large:
                self.clear()
        original, found = None, {}
        if not large:
            self.asked.progress(f"{source.name}: what became of it")
            python = self.asked.environments[OURS].python
            original, found = judged(self.model, source.name, results, python, self.asked.limit)
        self.clear()
        return {name: replace(cell, quality=found.get(name)) for name, cell in cells.items()}, original

"""Time every peer on a model, in turns: one after the other in an order that rotates, on a warm cache."""

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
"""A peer that takes longer than these seconds is slow: so many runs more are enough to tell."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked on the command line."""

    peers: Sequence[Peer]
    runs: int
    limit: float
    """Seconds of one run."""
    environments: Mapping[str, Environment]
    progress: Callable[[str], None]

    def present(self, format_: str) -> list[Peer]:
        """Return the peers of a format that are installed."""
        some = [peer for peer in self.peers if format_ in peer.formats]
        return [peer for peer in some if not self.environments[peer.environment].missing(peer)]


def order(names: Sequence[str], turn: int) -> list[str]:
    """Return who goes when: the start rotates, and every other round goes backwards."""
    start = turn // 2 % len(names)
    rotated = [*names[start:], *names[:start]]
    return rotated[:: 1 - turn % 2 * 2]


def turns(first: float, runs: int) -> int:
    """Return how many runs a peer has behind its first one, which took so many seconds; the first counts if none."""
    return next((min(few, runs) for seconds, few in SLOW if first > seconds), runs)


def row(source: models.Source, asked: Asked, folder: Path) -> Row:
    """Measure one model. The first run of each warms the cache, and its result is what is judged."""
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
    """One model in a folder, from which all else is taken away again."""

    model: Path
    kept: frozenset[str]
    asked: Asked

    def output(self, number: int) -> Path:
        """Where the peer of this number writes: beside the model, since external data is named so."""
        return self.model.with_name(f"output-{number}{self.model.suffix}")

    def clear(self, besides: frozenset[str] = frozenset()) -> int:
        """Take away what is new; return its bytes."""
        return models.clear(self.model.parent, self.kept | besides)

    def run(self, peer: Peer, output: Path) -> Run:
        """Time one run. Raises FailedError."""
        command = peer.command(self.asked.environments[peer.environment].python, self.model, output)
        run, _ = timed(command, self.asked.limit, self.model.parent)
        if not output.exists():
            raise FailedError("it wrote no model")
        return run

    def first(self, source: models.Source) -> tuple[dict[str, Cell], Quality | None]:
        """Let each peer run once, and judge what they made; large results are taken away at once."""
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

"""Ask every verifier about every pair: the models of the zoo beside what each tool made of them, and with faults.

Each pair is asked once, as whole processes that take turns; pairs of the same two files are asked once together. Two
models at a time, on a core each, the largest first.
"""

from __future__ import annotations

import hashlib
import os
import queue
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from peers.asking import AskingError, ask
from peers.catalogue import NAMED as MAKERS_BY_NAME
from peers.catalogue import OURS
from peers.clock import Ended, FailedError, ran, timed
from peers.environments import Environment
from peers.measure import order
from peers.models import Source
from peers.record import Run
from peers.verifying import inputs, record
from peers.verifying.answers import answered
from peers.verifying.faults import FAULTS
from peers.verifying.record import NOT_RUN, Answer, Pair, Verification, Witness
from peers.verifying.verifiers import NAMED, VERIFIERS, Files, Verifier

MAKERS = (
    "cp",
    "onnx",
    "litert",
    "graphfix explicit",
    "graphfix ranks",
    "onnxsim",
    "onnxsim implicit",
    "onnxsim rank0",
    "onnxslim",
    "onnxoptimizer",
    "onnxscript",
    "polygraphy",
)
"""Whose outputs are verified, by their names in the catalogue of the peers."""
WITNESS, PLANTED = "peers.verifying.witness", "peers.verifying.planted"
NO_RUN = Run(0.0, 0.0, 0)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked on the command line."""

    limit: float
    """Seconds of one process."""
    environments: Mapping[str, Environment]
    progress: Callable[[str], None]
    """Is told what is being done."""
    done: Callable[[str], None]
    """Is told of each model what has become of it."""
    folder: Path | None = None
    lanes: int = 2

    def present(self, format_: str) -> list[Verifier]:
        """Return the verifiers of a format all of whose packages are installed."""
        there = [each for each in VERIFIERS if format_ in each.formats]
        return [each for each in there if set(each.packages) <= self.environments[each.environment].versions.keys()]


def verification(sources: Sequence[Source], asked: Asked) -> Verification:
    """Verify all; the pairs are in the order of the models."""
    cores: queue.SimpleQueue[int] = queue.SimpleQueue()
    for lane in range(asked.lanes):
        cores.put(lane)
    largest = sorted(sources, key=lambda source: -(source.path.stat().st_size if source.path else 0))
    with ThreadPoolExecutor(asked.lanes, initializer=_pinned, initargs=(cores,)) as pool:
        found = dict(
            zip((each.name for each in largest), pool.map(lambda each: _model(each, asked), largest), strict=True)
        )
    pairs = [pair for source in sources for pair in found[source.name][0]]
    failures = [line for source in sources for line in found[source.name][1]]
    return Verification(tuple(pairs), {"limit": f"{asked.limit:g}", "lanes": str(asked.lanes)}, tuple(failures))


def _pinned(cores: queue.SimpleQueue[int]) -> None:
    """Keep a lane, and the processes that it starts, on a core of its own, where the system can."""
    core = cores.get()
    if hasattr(os, "sched_setaffinity") and core in os.sched_getaffinity(0):
        os.sched_setaffinity(0, {core})


@dataclass(slots=True)
class _Made:
    """The second files of a model's pairs, and what made them."""

    results: dict[str, Path] = field(default_factory=dict)
    faults: dict[str, Path] = field(default_factory=dict)
    witnesses: dict[str, Witness] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def _model(source: Source, asked: Asked) -> tuple[list[Pair], list[str]]:
    """Make the pairs of one model, and ask about them."""
    with TemporaryDirectory(prefix="graphfix-pairs-", dir=asked.folder) as place:
        folder = Path(place)
        python = asked.environments[OURS].python
        model = source.placed_in(folder, python)
        made = _made(source, model, asked)
        bench = _Bench(model, source, asked)
        unseen = Witness(NOT_RUN, reason="no witness")
        pairs = [bench.pair(name, "", path, made.witnesses.get(name, unseen)) for name, path in made.results.items()]
        pairs += [bench.pair("", kind, path, made.witnesses[kind]) for kind, path in made.faults.items()]
    asked.done(f"{source.name}: {len(pairs)} pairs, {sum(pair.again for pair in pairs)} of them again")
    return pairs, made.failures


def _made(source: Source, model: Path, asked: Asked) -> _Made:
    """Let every tool make its result, plant the faults, and run all of them."""
    made = _Made()
    for number, name in enumerate(each for each in MAKERS if source.format in MAKERS_BY_NAME[each].formats):
        maker = MAKERS_BY_NAME[name]
        environment = asked.environments[maker.environment]
        if environment.missing(maker):
            continue
        output = model.with_name(f"output-{number}{model.suffix}")
        asked.progress(f"{source.name}: {name}")
        try:
            timed(maker.command(environment.python, model, output), asked.limit, model.parent)
            made.results[name] = output.rename(output)  # raises where nothing was written
        except (FailedError, FileNotFoundError) as error:
            made.failures.append(f"{source.name}, {name}: {error}".replace(f"{model.parent}/", ""))
    asked.progress(f"{source.name}: what the runs say")
    try:
        _witnessed(source, model, asked, made)
    except AskingError as error:
        made.failures.append(f"{source.name}, witness: {error}")
    return made


def _witnessed(source: Source, model: Path, asked: Asked, made: _Made) -> None:
    """Run all results, and plant faults that show in runs. Raises AskingError."""
    python = asked.environments[OURS].python
    question = {"model": str(model), "name": source.name, "limit": asked.limit}
    said = ask(python, WITNESS, {**question, "results": {name: str(path) for name, path in made.results.items()}})
    made.witnesses |= {name: record.witness(each) for name, each in said.items()}
    if source.name in FAULTS:
        for kind, each in ask(python, PLANTED, {**question, "folder": str(model.parent)}).items():
            made.faults[kind] = model.with_name(each["path"])
            made.witnesses[kind] = record.witness(each["witness"])


@dataclass(slots=True)
class _Bench:
    """One model, whose pairs are asked about one after the other."""

    model: Path
    source: Source
    asked: Asked
    turn: int = 0
    answers_by_model: dict[str, Mapping[str, Answer]] = field(default_factory=dict)
    """Answers by the digest of the second file."""
    originals: dict[tuple[str, ...], Run] = field(default_factory=dict)
    """What the run of the original alone took, by its command."""

    def pair(self, maker: str, fault: str, after: Path, witness: Witness) -> Pair:
        """Ask all verifiers about a pair, or take what they said of the same bytes."""
        pair = Pair(self.source.name, self.source.format, maker, fault, witness)
        digest = hashlib.sha256(after.read_bytes()).hexdigest()
        if digest in self.answers_by_model:
            return replace(pair, answers=self.answers_by_model[digest], again=True)
        self.asked.progress(f"{self.source.name}: verifying {maker or fault}")
        files = Files(self.model, after, inputs.of(self.source.name))
        names = [each.name for each in self.asked.present(self.source.format)]
        answers = {name: self._answer(NAMED[name], files) for name in order(names, self.turn)}
        self.turn += 1
        self.answers_by_model[digest] = {name: answers[name] for name in names}
        return replace(pair, answers=self.answers_by_model[digest])

    def _answer(self, verifier: Verifier, files: Files) -> Answer:
        python = self.asked.environments[verifier.environment].python
        before = self._original(verifier, files, python)
        ended = ran(verifier.command(files, python), self.asked.limit, self.model.parent)
        answer = answered(_nearby(ended, self.model.parent), verifier.read, self.asked.limit)
        return replace(answer, seconds=answer.seconds + before.seconds, cpu=answer.cpu + before.cpu)

    def _original(self, verifier: Verifier, files: Files, python: Path) -> Run:
        """What the original's own run takes: it is run once, and counts in each pair."""
        command = tuple(verifier.before(files, python))
        if command and command not in self.originals:
            self.originals[command] = ran(command, self.asked.limit, self.model.parent).run
        return self.originals.get(command, NO_RUN)


def _nearby(ended: Ended, folder: Path) -> Ended:
    """Name the files of a folder in what a process said as if it was here."""
    here = f"{folder}/"
    return replace(ended, said=ended.said.replace(here, ""), blamed=ended.blamed.replace(here, ""))

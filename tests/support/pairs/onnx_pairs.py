"""Pairs of ONNX files: every seed, changed in every kind of way, judged in both directions."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from onnx import ModelProto

from tests.support.pairs import (  # noqa: F401 -- each enters its kinds of change
    onnx_attributes,
    onnx_bodies,
    onnx_computed,
    onnx_files,
    onnx_initializers,
    onnx_inserted,
    onnx_operands,
    onnx_storage,
)
from tests.support.pairs.counts import Counts
from tests.support.pairs.onnx_composites import composites
from tests.support.pairs.onnx_judge import Judge, Judgement
from tests.support.pairs.onnx_parts import KINDS, OF_NODES, THEN, Edit
from tests.support.pairs.onnx_run import Ran
from tests.support.pairs.onnx_seeds import Seed, Wanted, always, seeds

UNWRITABLE = (ValueError, IndexError, TypeError, AttributeError)
"""What protobuf's Python raises where it does not let one write a change."""
TRIES = 5
"""How many kinds are looked at for a second change."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """A pair that is proved, and is not equal; or a traceback of the proof."""

    seed: str
    kind: str
    why: str
    before: bytes = field(repr=False)
    after: bytes = field(repr=False)


@dataclass
class Tally:
    """Counts by kind of change, what was wrong, why others are not proved, and which (operator, kind) were tried."""

    counts: Counts = field(default_factory=Counts)
    wrong: list[Wrong] = field(default_factory=list)
    refused: list[Wrong] = field(default_factory=list)
    """Pairs that are equal by the runs and are not proved, where these were asked for."""
    covered: set[tuple[str, str]] = field(default_factory=set)

    def update(self, other: Tally) -> None:
        """All of another tally."""
        self.counts.update(other.counts)
        self.wrong += other.wrong
        self.refused += other.refused
        self.covered |= other.covered

    def add(self, seed: Seed, kind: str, judged: Judgement, before: bytes, after: bytes) -> None:
        """Count a pair."""
        columns = (name for name in ("loaded", "proved", "run") if getattr(judged, name))
        self.counts.add(kind, "tried", *columns, *(["wrong"] if judged.wrong else []))
        self.covered.add((seed.operator, kind))
        if judged.wrong:
            self.wrong.append(Wrong(seed.name, kind, judged.wrong, before, after))
        elif judged.equal:
            self.refused.append(Wrong(seed.name, kind, judged.reason, before, after))


def changed(seed: Seed, kind: str, count: int = 1) -> Iterator[bytes]:
    """Some of the models that one kind of change makes of a seed, chosen by the names alone."""
    choose = random.Random(crc32(f"{seed.name}/{kind}".encode()))  # noqa: S311 -- changes, no secrets
    for edit in _chosen(KINDS[kind](seed.model, choose), count, choose):
        made = _edited(seed.model, edit)
        if made is not None and kind in THEN:
            made = _once_more(made, choose)
        data = b"" if made is None else made.SerializeToString()
        if data not in (b"", seed.data):
            yield data


def _chosen(edits: Iterable[Edit], count: int, choose: random.Random) -> list[Edit]:
    listed = list(edits)
    return choose.sample(listed, min(count, len(listed)))


def _edited(model: ModelProto, edit: Edit) -> ModelProto | None:
    try:
        edit(model)
    except UNWRITABLE:
        return None
    return model


def _once_more(model: ModelProto, choose: random.Random) -> ModelProto | None:
    kinds = sorted(OF_NODES)
    for _ in range(TRIES):
        edits = _chosen(KINDS[choose.choice(kinds)](model, choose), 1, choose)
        if edits:
            return _edited(model, edits[0])
    return None


def every_seed(judge: Judge, wanted: Wanted = always) -> list[Seed]:
    """The seeds of the operators that are wanted, and the composites."""
    return [*seeds(judge.runner, wanted), *(it for it in composites() if wanted(it.operator))]


def by_operator(given: Iterable[Seed]) -> Mapping[str, list[Seed]]:
    """The seeds of each operator, or of each composite."""
    groups: defaultdict[str, list[Seed]] = defaultdict(list)
    for seed in given:
        groups[seed.operator].append(seed)
    return groups


def examine(
    given: Iterable[Seed], judge: Judge, kinds: Collection[str] | None = None, *, share: int = 1, ask: bool = False
) -> Tally:
    """Judge one change of each kind of each operator, and the way back where the changed file runs too.

    Each (operator, kind) is tried if any of its seeds has such. `share` keeps one (operator, kind) in so many.
    """
    tally = Tally()
    for operator, group in by_operator(given).items():
        firsts: dict[str, Ran | None] = {}
        for kind, seed, data in changes(operator, group, kinds, share=share):
            _judge(tally, judge, (kind, seed, data), firsts, ask=ask)
    return tally


def changes(
    operator: str, group: Sequence[Seed], kinds: Collection[str] | None = None, *, share: int = 1
) -> Iterator[tuple[str, Seed, bytes]]:
    """One change of each kind of an operator: the kind, the seed, and the changed file.

    The kinds are spread over the seeds; where one has no place for a kind the next one is asked. `share` keeps one kind
    in so many, chosen by the names alone.
    """
    for kind in sorted(KINDS if kinds is None else kinds):
        at = crc32(f"{operator}/{kind}".encode())
        if at % share == 0:
            turn = at // share % len(group)
            seeds_in_turn = (*group[turn:], *group[:turn])
            made = ((seed, next(changed(seed, kind), None)) for seed in seeds_in_turn)
            yield from next(([(kind, seed, data)] for seed, data in made if data is not None), [])


def _judge(
    tally: Tally, judge: Judge, change: tuple[str, Seed, bytes], firsts: dict[str, Ran | None], *, ask: bool
) -> None:
    kind, seed, data = change
    if seed.name not in firsts:
        firsts[seed.name] = judge.first(seed.data, seed.feeds, seed.runtime)
    judged = judge.judge(seed.data, data, seed.feeds, firsts[seed.name], ask=ask)
    tally.add(seed, kind, judged, seed.data, data)
    back = judge.first(data, seed.feeds, seed.runtime)
    tally.add(seed, f"{kind}, back", judge.judge(data, seed.data, seed.feeds, back, ask=ask), data, seed.data)

"""Pairs of ONNX files: every seed, changed in every kind of way, judged in both directions."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from onnx import ModelProto

from tests.support.pairs import (  # noqa: F401 -- each enters its kinds
    onnx_attributes,
    onnx_bodies,
    onnx_files,
    onnx_initializers,
    onnx_inserted,
    onnx_operands,
)
from tests.support.pairs.onnx_judge import Judge, Judgement
from tests.support.pairs.onnx_parts import KINDS, OF_NODES, THEN, Edit
from tests.support.pairs.onnx_seeds import Seed

COUNTS = ("tried", "loaded", "proved", "run", "wrong")


@dataclass
class Tally:
    """Counts by kind of change, what was wrong, and the (operator, kind) that were tried."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    wrong: list[Wrong] = field(default_factory=list)
    covered: set[tuple[str, str]] = field(default_factory=set)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, kind: str, judged: Judgement) -> None:
        """Count a pair."""
        row = self.counts.setdefault(kind, Counter())
        row.update(tried=1, loaded=judged.loaded, proved=judged.proved, run=judged.run, wrong=bool(judged.wrong))

    @property
    def total(self) -> Counter[str]:
        """All kinds together."""
        return sum(self.counts.values(), Counter())


@dataclass(frozen=True, slots=True)
class Wrong:
    """A pair that is proved, and is not equal."""

    seed: str
    kind: str
    why: str
    before: bytes = field(repr=False)
    after: bytes = field(repr=False)


def changed(seed: Seed, kind: str, count: int, salt: int = 0) -> Iterator[bytes]:
    """Some of the models that one kind of change makes of a seed, chosen by the names alone."""
    choose = random.Random(crc32(f"{seed.name}/{kind}/{salt}".encode()))  # noqa: S311 -- changes, no secrets
    model = seed.model
    for edit in _chosen(KINDS[kind](model, choose), count, choose):
        made = _edited(seed, edit)
        if made is not None and kind in THEN:
            made = _once_more(made, choose)
        if made is not None:
            data = made.SerializeToString()
            if data != seed.data:
                yield data


def _chosen(edits: Iterable[Edit], count: int, choose: random.Random) -> list[Edit]:
    listed = list(edits)
    return choose.sample(listed, min(count, len(listed)))


def _edited(seed: Seed, edit: Edit) -> ModelProto | None:
    model = seed.model
    try:
        edit(model)
    except (ValueError, IndexError, TypeError):  # what protobuf's Python does not let one write
        return None
    return model


def _once_more(model: ModelProto, choose: random.Random) -> ModelProto | None:
    kinds = sorted(OF_NODES)
    for _ in range(5):
        edits = _chosen(KINDS[choose.choice(kinds)](model, choose), 1, choose)
        if edits:
            try:
                edits[0](model)
            except (ValueError, IndexError, TypeError):
                return None
            return model
    return None


def examine(
    seeds: Sequence[Seed],
    judge: Judge,
    kinds: Callable[[Seed], Iterable[str]],
    count: int = 1,
    salt: int = 0,
    tally: Tally | None = None,
) -> Tally:
    """Judge the changes of each seed, and the way back where the changed file runs too."""
    tally = Tally() if tally is None else tally
    for seed in seeds:
        first = judge.first(seed.data, seed.feeds, seed.runtime)
        if first is None:
            continue
        for kind in kinds(seed):
            for data in changed(seed, kind, count, salt):
                judged = judge.judge(seed.data, data, seed.feeds, first)
                _note(tally, seed, kind, judged, seed.data, data)
                back = judge.first(data, seed.feeds, seed.runtime)
                judged = judge.judge(data, seed.data, seed.feeds, back)
                _note(tally, seed, f"{kind}, back", judged, data, seed.data)
    return tally


def _note(tally: Tally, seed: Seed, kind: str, judged: Judgement, before: bytes, after: bytes) -> None:
    tally.add(kind, judged)
    tally.covered.add((seed.operator, kind))
    if judged.wrong:
        tally.wrong.append(Wrong(seed.name, kind, judged.wrong, before, after))

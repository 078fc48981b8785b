"""TFLite pairs: a seed and a small change of it, proved or not; what is proved is run."""

from __future__ import annotations

import random
import traceback
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from graphfix.checker.proof import prove
from graphfix.results import GraphfixError
from tests.support.pairs import tflite_judge as judge
from tests.support.pairs.counts import Counts
from tests.support.pairs.tflite_bytes import BYTES
from tests.support.pairs.tflite_changes import CHANGES
from tests.support.pairs.tflite_fields import changed, fields, kind, tables
from tests.support.pairs.tflite_file import Model, packed, unpacked
from tests.support.pairs.tflite_folds import DEVIATIONS, bases, folded
from tests.support.pairs.tflite_rewritten import REWRITTEN
from tests.support.pairs.tflite_seeds import Seed


RAISES = "raises "
"""What the proof's own traceback begins with."""


TOGETHER = 400
"""Pairs whose runs are asked of LiteRT together."""


class Pair(NamedTuple):
    """A first file, a second one, and what was changed."""

    seed: str
    kind: str
    before: bytes
    after: bytes


class Wrong(NamedTuple):
    """A pair that was proved, and what the runs say."""

    pair: Pair
    why: str


def pairs(seed: Seed, most: int) -> Iterator[Pair]:
    """At most `most` pairs of each kind, chosen by the seed's name."""
    for name, made in _made(seed):
        files = list(dict.fromkeys(made))
        choose = random.Random(zlib.crc32(f"{seed.name} {name}".encode()))  # noqa: S311 -- changes, no secrets
        for after in choose.sample(files, min(most, len(files))):
            if after != seed.file:
                yield Pair(seed.name, name, seed.file, after)


def folds(most: int) -> Iterator[Pair]:
    """Constants and operators that may compute them: of each operator and deviation at most `most`."""
    for number, base in enumerate(bases()):
        for name, deviate in DEVIATIONS.items():
            made = list(dict.fromkeys(pair for fold in deviate(base) for pair in folded(fold)))
            choose = random.Random(zlib.crc32(f"{number} {name}".encode()))  # noqa: S311 -- changes, no secrets
            for before, after in choose.sample(made, min(most, len(made))):
                yield Pair(f"fold {number} {base.op}", name, before, after)


def _made(seed: Seed) -> Iterator[tuple[str, Iterator[bytes]]]:
    model = unpacked(seed.file)
    for name, change in {**CHANGES, **REWRITTEN}.items():
        yield name, _packed(model, change(model))
    by_kind: dict[str, list[tuple[Model, str]]] = {}
    for table in tables(model):
        for field in fields(table):
            by_kind.setdefault(kind(table, field), []).append((table, field))
    for name, places in by_kind.items():
        yield name, _packed(model, (None for place in places for _ in changed(*place)))
    for name, change_bytes in BYTES.items():
        yield name, change_bytes(seed.file)


def _packed(model: Model, changes: Iterator[None]) -> Iterator[bytes]:
    for _ in changes:
        try:
            yield packed(model)
        except Exception:  # noqa: BLE001, S112 -- what FlatBuffers can't write is no file
            continue


def refusal(pair: Pair, folder: Path) -> str:
    """Why the proof does not take the pair; nothing where it does."""
    before, after = folder / "before.tflite", folder / "after.tflite"
    before.write_bytes(pair.before)
    after.write_bytes(pair.after)
    try:
        proof = prove(before, after, tflite=True)
    except GraphfixError as error:
        return str(error) or "refused"
    except Exception as error:  # noqa: BLE001 -- a traceback of the proof is a finding
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{RAISES}{error!r} in {Path(place.filename).name}:{place.lineno}"
    return "" if proof.proved else proof.reason or "not proved"


def examine(many: Iterable[Pair], folder: Path) -> tuple[list[Wrong], Counts]:
    """Prove the pairs, and run what is proved."""
    counts, found = Counts(), []
    for part in _parts(many):
        firsts = _firsts({pair.before for pair in part})
        taken = []
        for pair in part:
            counts.add(pair.kind, "tried", *(["loaded"] if firsts[pair.before] else []))
            why = refusal(pair, folder)
            if why.startswith(RAISES):
                counts.add(pair.kind, "wrong")
                found.append(Wrong(pair, why))
            if not why:
                counts.add(pair.kind, "proved")
                taken.append(pair)
        found += _judged(firsts, [pair for pair in taken if firsts[pair.before]], counts)
    return found, counts


def _parts(many: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Some pairs at a time."""
    left = iter(many)
    while part := list(islice(left, TOGETHER)):
        yield part


def _firsts(befores: Collection[bytes]) -> dict[bytes, dict[judge.Run, judge.Ran]]:
    """What of the runs of each first file counts."""
    return dict(zip(befores, judge.steady(list(befores)), strict=True))


def _judged(firsts: Mapping[bytes, dict[judge.Run, judge.Ran]], taken: Sequence[Pair], counts: Counts) -> Iterator[Wrong]:
    for pair, ran in zip(taken, judge.files([pair.after for pair in taken]), strict=True):
        counts.add(pair.kind, "run")
        if (why := judge.wrong(firsts[pair.before], ran)) is not None:
            counts.add(pair.kind, "wrong")
            yield Wrong(pair, why)

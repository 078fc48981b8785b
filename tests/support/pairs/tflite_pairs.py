"""TFLite pairs: a seed and a small change of it, proved or not; what is proved is run."""

from __future__ import annotations

import random
import traceback
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from graphfix.checker.proof import prove
from graphfix.results import GraphfixError
from tests.support.pairs import tflite_judge as judge
from tests.support.pairs.counts import Counts
from tests.support.pairs.tflite_bytes import BYTES
from tests.support.pairs.tflite_changes import CHANGES, Change
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
    model = unpacked(seed.file)
    seen = {seed.file}
    for name, change in _changes(model).items():
        for after in _some(lambda change=change: change(model), model, most, f"{seed.name} {name}"):  # type: ignore[misc]
            if after not in seen:
                seen.add(after)
                yield Pair(seed.name, name, seed.file, after)
    for name, change_bytes in BYTES.items():
        made = list(change_bytes(seed.file))
        for after in _chooser(f"{seed.name} {name}").sample(made, min(most, len(made))):
            if after not in seen:
                seen.add(after)
                yield Pair(seed.name, name, seed.file, after)


def _changes(model: Model) -> dict[str, Change]:
    """The kinds of change by name, and one for each field of each table of the schema that the model has."""
    by_kind: dict[str, list[tuple[Model, str]]] = {}
    for table in tables(model):
        for field in fields(table):
            by_kind.setdefault(kind(table, field), []).append((table, field))
    return {**CHANGES, **REWRITTEN, **{name: _by_fields(places) for name, places in by_kind.items()}}


def _by_fields(places: Sequence[tuple[Model, str]]) -> Change:
    return lambda _: (None for place in places for _ in changed(*place))


def _some(changes: Callable[[], Iterator[None]], model: Model, most: int, name: str) -> Iterator[bytes]:
    """The files of `most` of the changes: only those are written."""
    count = sum(1 for _ in changes())
    chosen = frozenset(_chooser(name).sample(range(count), min(most, count)))
    for number, _ in enumerate(changes()):
        if number in chosen:
            try:
                yield packed(model)
            except Exception:  # noqa: BLE001, S112 -- what FlatBuffers can't write is no file
                continue


def _chooser(name: str) -> random.Random:
    """The same choices for the same name."""
    return random.Random(zlib.crc32(name.encode()))  # noqa: S311 -- changes, no secrets


def folds(most: int) -> Iterator[Pair]:
    """Constants and operators that may compute them: of each operator and deviation at most `most`."""
    for number, base in enumerate(bases()):
        for name, deviate in DEVIATIONS.items():
            made = list(dict.fromkeys(pair for fold in deviate(base) for pair in folded(fold)))
            for before, after in _chooser(f"{number} {name}").sample(made, min(most, len(made))):
                yield Pair(f"fold {number} {base.op}", name, before, after)


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

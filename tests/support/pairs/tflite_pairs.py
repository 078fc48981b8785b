"""TFLite pairs: a first file and a small change of it, proved or not, in both directions; what is proved is run."""

from __future__ import annotations

import random
import traceback
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import graphfix
from graphfix.checker.proof import STORED_SHAPES
from graphfix.results import GraphfixError
from tests.support.pairs import tflite_judge as judge
from tests.support.pairs.counts import Counts
from tests.support.pairs.tflite_bytes import BYTES, SEVERAL
from tests.support.pairs.tflite_changes import CHANGES
from tests.support.pairs.tflite_deviations import DEVIATIONS
from tests.support.pairs.tflite_fields import Change, changed, fields, kind, tables
from tests.support.pairs.tflite_file import Model, packed, unpacked
from tests.support.pairs.tflite_fold import folded
from tests.support.pairs.tflite_folds import bases
from tests.support.pairs.tflite_rewritten import REWRITTEN
from tests.support.pairs.tflite_seeds import Seed
from tests.support.proving import prove

RAISES = "raises "
"""What a traceback of the proof begins with, where a refusal would be its reason."""
TOGETHER = 400
"""Pairs whose runs are asked of LiteRT together."""
BACK = ", back"
"""Behind the kind of a pair whose first file is the changed one."""
TWICE = 8
"""How many pairs of kinds of change are looked at for two at once."""
Proves = Callable[[Path, Path], str]
"""Why two files are not proved equal; nothing where they are."""
Makes = Callable[[], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class Pair:
    """A first file, a second one, and what was changed."""

    seed: str
    operator: str
    kind: str
    before: bytes = field(repr=False)
    after: bytes = field(repr=False)

    @property
    def back(self) -> Pair:
        """The changed file first."""
        return Pair(self.seed, self.operator, f"{self.kind}{BACK}", self.after, self.before)


@dataclass(frozen=True, slots=True)
class Found:
    """A pair, and what is said of it: by the runs where it is wrong, by the proof where it is refused."""

    pair: Pair
    why: str


@dataclass
class Tally:
    """Counts by kind of change, what was wrong, and which (operator, kind) were tried."""

    counts: Counts = field(default_factory=Counts)
    wrong: list[Found] = field(default_factory=list)
    refused: list[Found] = field(default_factory=list)
    """Pairs that are equal by the runs and are not proved, where these were asked for."""
    covered: set[tuple[str, str]] = field(default_factory=set)


# --- which pairs ------------------------------------------------------------------------------------------------------


def pairs(given: Iterable[Seed], each: int = 1, *, share: int = 1, kinds: str = "") -> Iterator[Pair]:
    """Of each operator's first files `each` of every kind of change, and the way back.

    `share` keeps one (operator, kind) in so many, `kinds` those whose name has the text.
    """
    groups: defaultdict[str, list[Seed]] = defaultdict(list)
    for seed in given:
        groups[seed.operator].append(seed)
    for operator, group in groups.items():
        makers = [_made(seed) for seed in group]
        for name in sorted({name for made in makers for name in made if kinds in name}):
            at = zlib.crc32(f"{operator}/{name}".encode())
            if at % share == 0:
                turn = at // share % len(group)
                order = [*range(turn, len(group)), *range(turn)]
                found = (pair for place in order for pair in _of_seed(group[place], name, makers[place]))
                wanted = each * SEVERAL.get(name, 1)
                yield from (both for pair in islice(found, wanted) for both in (pair, pair.back))


def folds(most: int, *, share: int = 1) -> Iterator[Pair]:
    """Constants and operators that may compute them: of each operator and deviation at most `most` sets of operands."""
    for number, base in enumerate(bases()):
        for name, deviate in DEVIATIONS.items():
            if zlib.crc32(f"{number}/{name}".encode()) % share == 0:
                made = list(deviate(base))
                for fold in _chooser(f"{number} {name}").sample(made, min(most, len(made))):
                    for before, after in folded(fold):
                        yield Pair(f"fold {number}", base.op, name, before, after)


def _of_seed(seed: Seed, name: str, made: Mapping[str, Makes]) -> Iterator[Pair]:
    """The one pair of a kind of change, if the first file has a place for it."""
    if name in made:
        yield from (
            Pair(seed.name, seed.operator, name, seed.file, after) for after in made[name]() if after != seed.file
        )


def _made(seed: Seed) -> dict[str, Makes]:
    """By the kind of change the files that it makes: those that the seed's name chooses."""
    model = unpacked(seed.file)
    made = {name: _one_of(change, model, f"{seed.name} {name}") for name, change in _changes(model).items()}
    made["two_changes"] = lambda: _twice(seed)
    return made | {name: _some_files(change, seed, name) for name, change in BYTES.items()}


def _changes(model: Model) -> dict[str, Change]:
    """The kinds of change, with one for every field of every table that the model has."""
    by_kind: dict[str, list[tuple[Model, str]]] = defaultdict(list)
    for table in tables(model):
        for each in fields(table):
            by_kind[kind(table, each)].append((table, each))
    return {**CHANGES, **REWRITTEN, **{name: _by_fields(places) for name, places in by_kind.items()}}


def _by_fields(places: Sequence[tuple[Model, str]]) -> Change:
    return lambda _: (None for place in places for _ in changed(*place))


def _twice(seed: Seed) -> Iterator[bytes]:
    """Some files with two changes of different kinds."""
    model, name = unpacked(seed.file), f"{seed.name} two"
    changes = _changes(model)
    kinds = _chooser(name).sample(sorted(changes), 2 * TWICE)
    for first, second in zip(kinds[::2], kinds[1::2], strict=True):
        for file in _one_of(changes[first], model, f"{name} {first}")():
            other = unpacked(file)
            with suppress(Exception):  # the first change may leave nothing that the second could find its place in
                yield from _one_of(_changes(other).get(second, lambda _: iter(())), other, f"{name} {second}")()


def _one_of(change: Change, model: Model, name: str) -> Makes:
    """One of the changes: only that one is written."""

    def made() -> Iterator[bytes]:
        count = sum(1 for _ in change(model))
        chosen = _chooser(name).randrange(count) if count else -1
        files = [_written(model) for number, _ in enumerate(change(model)) if number == chosen]
        return iter([file for file in files if file])

    return made


def _written(model: Model) -> bytes:
    """The file of a model; nothing where FlatBuffers can't write it."""
    try:
        return packed(model)
    except Exception:  # noqa: BLE001 -- of many types
        return b""


def _some_files(change: Callable[[bytes], Iterator[bytes]], seed: Seed, name: str) -> Makes:
    def made() -> Iterator[bytes]:
        files = list(change(seed.file))
        return iter(_chooser(f"{seed.name} {name}").sample(files, min(SEVERAL.get(name, 1), len(files))))

    return made


def _chooser(name: str) -> random.Random:
    """The same choices for the same name."""
    return random.Random(zlib.crc32(name.encode()))  # noqa: S311 -- changes, no secrets


# --- what is said of them ---------------------------------------------------------------------------------------------


def proves(before: Path, after: Path) -> str:
    """Ask the proof, and where it says yes the public face of graphfix, which may refuse a file before."""
    proof = prove(before, after, tflite=True)
    if not proof.proved:
        return proof.reason or "not proved"
    return "" if graphfix.verify(before, after, proof="only").status == "proved" else "refused by the public face"


def examine(
    many: Iterable[Pair], folder: Path, *, by: Proves = proves, ask: bool = False, brief: bool = False
) -> Tally:
    """Prove the pairs, and run what is proved; `ask` runs what is refused too.

    `brief` runs no first file of which nothing is proved, and so does not count all that loads.
    """
    tally = Tally()
    left = iter(many)
    while part := list(islice(left, TOGETHER)):
        said = [(pair, _refusal(pair, folder, by)) for pair in part]
        firsts = _firsts({pair.before for pair, why in said if not (brief and why)})
        asked = []
        for pair, why in said:
            _count(tally, pair, why, loaded=bool(firsts.get(pair.before)))
            if firsts.get(pair.before) and (not why or (ask and not why.startswith(RAISES))):
                asked.append(Found(pair, why))
        _judge(tally, asked, firsts)
    return tally


def _refusal(pair: Pair, folder: Path, by: Proves) -> str:
    before, after = folder / "before.tflite", folder / "after.tflite"
    before.write_bytes(pair.before)
    after.write_bytes(pair.after)
    try:
        return by(before, after)
    except GraphfixError as error:
        return str(error) or "refused"
    except Exception as error:  # noqa: BLE001 -- a traceback of the proof is a finding
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{RAISES}{error!r} in {Path(place.filename).name}:{place.lineno}"


def _count(tally: Tally, pair: Pair, why: str, *, loaded: bool) -> None:
    tally.counts.add(pair.kind, "tried", *(["loaded"] if loaded else []), *([] if why else ["proved"]))
    tally.covered.add((pair.operator, pair.kind))
    if why.startswith(RAISES):
        tally.counts.add(pair.kind, "wrong")
        tally.wrong.append(Found(pair, why))


def _firsts(befores: Collection[bytes]) -> dict[bytes, dict[judge.Run, judge.Ran]]:
    """What of the runs of each first file counts."""
    return dict(zip(befores, judge.steady(list(befores)), strict=True))


def _judge(tally: Tally, asked: Sequence[Found], firsts: Mapping[bytes, dict[judge.Run, judge.Ran]]) -> None:
    for found, ran in zip(asked, judge.files([found.pair.after for found in asked]), strict=True):
        differs = judge.wrong(firsts[found.pair.before], ran)
        if differs and not found.why:
            differs = _certainly(found.pair)
        if not found.why:
            tally.counts.add(found.pair.kind, "run", *(["wrong"] if differs else []))
            tally.wrong += [Found(found.pair, differs)] if differs else []
        elif differs is None:
            tally.refused.append(found)


def _certainly(pair: Pair) -> str | None:
    """What is wrong with a proved pair, unless its proof leans on stored shapes, says so, and these are not true."""
    why = judge.certainly_wrong(pair.before, pair.after)
    if why is None or judge.states_its_shapes(pair.before):
        return why
    with TemporaryDirectory() as folder:
        before, after = Path(folder, "before.tflite"), Path(folder, "after.tflite")
        before.write_bytes(pair.before)
        after.write_bytes(pair.after)
        return None if STORED_SHAPES in prove(before, after, tflite=True).assumes else why

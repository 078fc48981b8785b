"""Random TFLite models, fixed, then changed at random: what is proved all the same runs to the same bits."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from graphfix.results import GraphfixError
from tests.support import engine
from tests.support.faults.tflite.mutations import MUTATIONS, mutated
from tests.support.faults.tflite.planted import packed, unpacked
from tests.support.fuzz.tflite.checks import WAYS, Feeds, elements
from tests.support.fuzz.tflite.graph_builder import Draft
from tests.support.fuzz.tflite.graphs import draft
from tests.support.proving import prove
from tests.support.runtimes.litert_groups import KERNELS, Job, Ran, run

OPTIONS: tuple[dict[str, str] | None, ...] = (
    None, {"target": "ranks"}, {"target": "explicit"}, {"target": "explicit", "broadcasts": "two-sided"},
    {"target": "explicit", "unknown": "keep"}, {"target": "litert-gpu"},
)  # fmt: skip
"""None: the changed model is the first one itself."""
SHORT, CHANGES = 15, 20
"""Models of the short test, and how often each model is changed."""
SEEDS = [
    range(SHORT),
    pytest.param(range(SHORT, 32), marks=pytest.mark.ci),
    *(pytest.param(range(32 + part, 430, 4), marks=pytest.mark.full) for part in range(4)),
]
TOGETHER = 40
"""Models whose runs are asked of one child."""
ASKED = KERNELS[:2]
"""Without the delegate: what it rounds and takes is its own."""
LEAST = 0.05
"""How many of the changes leave what is proved: without them nothing would be run."""


class Changed(NamedTuple):
    """A model of which a proof says that it is the first one still."""

    names: str
    file: bytes


class Case(NamedTuple):
    """One model, and what was made of it."""

    seed: int
    file: bytes
    inputs: Sequence[Feeds]
    changed: Sequence[Changed]

    @property
    def jobs(self) -> list[Job]:
        files = [self.file, *(each.file for each in self.changed)]
        return [Job(file, kernels, feeds) for file in files for kernels in ASKED for feeds in self.inputs]


def _inputs(made: Draft, choose: random.Random) -> list[Feeds]:
    """Inputs of many sizes, 0 and 1 among them."""
    found = []
    for seed, way in enumerate((*WAYS, "zeros", "random")):
        sizes = dict(made.sizes)
        if way in ("ones", "zeros"):
            sizes = dict.fromkeys(sizes, int(way == "ones"))
        elif way == "random":
            sizes = {name: choose.choice((0, 1, 1, 2, 3)) for name in sizes}
        shapes = [tuple(of if isinstance(of, int) else sizes[of] for of in axes) for _, axes, _ in made.inputs]
        pairs = zip(shapes, made.inputs, strict=True)
        found.append(tuple(elements(shape, dtype, seed) for shape, (_, _, dtype) in pairs))
    return found


def _fixed(file: bytes, options: dict[str, str] | None) -> bytes:
    if options is None:
        return file
    try:
        model = engine.load(file)
        engine.fix(model, **options)  # type: ignore[arg-type]  # the table's values fit their names
    except GraphfixError:
        return file
    return model.tobytes()


def _proved(before: Path, after: Path) -> bool:
    try:
        return prove(before, after, tflite=True).proved
    except GraphfixError:
        return False


def _case(seed: int, folder: Path, counts: Counter[str]) -> Case:
    made, choose = draft(seed), random.Random(seed)  # noqa: S311 -- changes, no secrets
    before, after = folder / "before.tflite", folder / "after.tflite"
    before.write_bytes(made.file())
    model = unpacked(_fixed(before.read_bytes(), choose.choice(OPTIONS)))
    changed = []
    for _ in range(CHANGES):
        names, other = mutated(model, choose)
        after.write_bytes(packed(other))
        counts.update(all=1)
        if _proved(before, after):
            counts.update(["proved", *names.split()])
            changed.append(Changed(names, after.read_bytes()))
    return Case(seed, before.read_bytes(), _inputs(made, choose), changed)


def examine(seeds: Iterable[int], folder: Path) -> tuple[list[str], Counter[str]]:
    """What is wrong, and how many changes of each kind were proved."""
    counts: Counter[str] = Counter()
    cases = [_case(seed, folder, counts) for seed in seeds]
    found = []
    for at in range(0, len(cases), TOGETHER):
        part = cases[at : at + TOGETHER]
        for case, ran in zip(part, run([case.jobs for case in part]), strict=True):
            found += _wrong(case, ran)
    return found, counts


def _wrong(case: Case, ran: Sequence[Ran]) -> list[str]:
    each = len(ASKED) * len(case.inputs)
    first = ran[:each]
    found = []
    for index, changed in enumerate(case.changed, 1):
        pairs = zip(first, ran[index * each : (index + 1) * each], strict=True)
        wrong = next((what for one, two in pairs if (what := _differs(one, two))), None)
        found += [f"seed {case.seed}, {changed.names}: {wrong}"] if wrong else []
    return found


def _differs(before: Ran, after: Ran) -> str | None:
    """What is wrong: the second model may run where the first one fails, and not the other way."""
    if not before.fine:
        return None
    if not after.fine:
        return f"fails: {after.error or after.signal}"
    pairs = zip(before.outputs, after.outputs, strict=True)
    return None if all(_same(one, two) for one, two in pairs) else "gives something else"


def _same(one: np.ndarray, two: np.ndarray) -> bool:
    if (one.dtype, one.shape) != (two.dtype, two.shape):
        return False
    if one.dtype == object:
        return bool(one.tolist() == two.tolist())
    if one.dtype.kind == "f":
        one, two = (np.where(np.isnan(each), each.dtype.type(np.nan), each) for each in (one, two))
    return one.tobytes() == two.tobytes()


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_random_changes_that_are_proved_run_to_the_same_bits(seeds: range, tmp_path: Path) -> None:
    found, counts = examine(seeds, tmp_path)
    assert found == []
    assert counts["proved"] > LEAST * counts["all"]


def test_every_kind_of_change_changes_some_model() -> None:
    choose = random.Random(0)  # noqa: S311 -- changes, no secrets
    no_op = set(MUTATIONS)
    for seed in range(SHORT):
        model = unpacked(draft(seed).file())
        for name in sorted(no_op):
            changed = copy.deepcopy(model)
            if MUTATIONS[name](changed, choose) and packed(changed) != packed(model):
                no_op.discard(name)
    assert no_op == set()


def test_a_change_that_is_no_change_is_proved(tmp_path: Path) -> None:
    """So that the fuzz does not pass because nothing is ever proved."""
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    refused = []
    for seed in range(SHORT):
        before.write_bytes(draft(seed).file())
        model = unpacked(before.read_bytes())
        model.description = b"the same"
        after.write_bytes(packed(model))
        refused += [seed] if not _proved(before, after) else []
    assert refused == []

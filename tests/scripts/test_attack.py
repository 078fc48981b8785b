"""The attack on whole graphs: a planted fault of the proof is found, and the proof as it is has none in a sample."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import attack
import numpy as np
import pytest
from attacking.pair import Feed, Pair
from attacking.runs import Runner
from attacking.tflite_draft import Scale, TfliteDraft

from graphfix import results

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FAMILIES = [name for name in attack.MADE_BY if name != "tflite-lstm"]
"""All families but one, whose runs are slow."""
SEEDS = range(2)


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    made = Runner()
    yield made
    made.close()


def wrong(family: str, seeds: range, folder: Path, runner: Runner) -> list[str]:
    """Return what is wrong with each proved pair of a family."""
    found = []
    for seed in seeds:
        (place := folder / f"{family}{seed}").mkdir()
        found.append(attack.examine(attack.MADE_BY[family](seed, family), place, runner)[2])
    return [why for why in found if why]


@pytest.mark.alike(2)
@pytest.mark.parametrize("family", FAMILIES)
def test_no_proved_pair_of_the_sample_differs(family: str, tmp_path: Path, runner: Runner) -> None:
    assert wrong(family, SEEDS, tmp_path, runner) == []


@pytest.mark.ci
@pytest.mark.parametrize("family", ["elementwise", "tflite-float"])
def test_a_proof_that_takes_every_pair_is_found(
    family: str, tmp_path: Path, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attack.graphfix, "verify", lambda *_, **__: results.Verdict("proved"))
    assert wrong(family, range(8), tmp_path, runner)


def chain(kind: str, *, stretches: bool) -> bytes:
    """Return SUB(x[3], c[1,1]) and an ADD behind it; `x` is stretched to the rank of the constant, or not."""
    model = TfliteDraft(random.Random(0))  # noqa: S311 - not for secrets
    scale = Scale(0.1, 3) if kind == "uint8" else None
    value = model.main.input(kind, (3,), scale)
    if stretches:
        value = model.main.like("BROADCAST_TO", [value, model.main.constant([1, 3])], (1, 3))
    for _ in range(2):
        other = model.main.constant(np.full((1, 1), 5, kind), scale)
        value = model.main.like("SUB", [value, other], (1, 3))
    model.main.graph.tensors[value].name = b"y"
    model.main.graph.outputs.append(value)
    return model.packed()


@pytest.mark.parametrize(("kind", "proved"), [("uint8", False), ("float32", True)])
def test_a_rank_that_the_default_kernels_drop_in_a_chain_is_not_proved(
    kind: str, proved: bool, tmp_path: Path, runner: Runner
) -> None:
    before, after = chain(kind, stretches=False), chain(kind, stretches=True)
    pair = Pair(0, "tflite", before, after, equal=True, changes=(), feeds=(Feed("x", kind, (3,)),))
    assert (attack.examine(pair, tmp_path, runner)[0] == "proved") is proved
    assert runner.run(pair, str(tmp_path), near=False, empty=True)[1] == (
        "" if proved else "AUTO {}: output 0 is uint8[1, 3], not uint8[3]"
    )

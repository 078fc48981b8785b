"""The attack on whole graphs: a planted fault of the proof is found, and the proof as it is has none in a sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attack
import pytest
from attacking.runs import Runner

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


@pytest.mark.parametrize("family", FAMILIES)
def test_no_proved_pair_of_the_sample_differs(family: str, tmp_path: Path, runner: Runner) -> None:
    assert wrong(family, SEEDS, tmp_path, runner) == []


@pytest.mark.parametrize("family", ["elementwise", "tflite-float"])
def test_a_proof_that_takes_every_pair_is_found(
    family: str, tmp_path: Path, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attack.graphfix, "verify", lambda *_, **__: results.Verdict("proved"))
    assert wrong(family, range(8), tmp_path, runner)

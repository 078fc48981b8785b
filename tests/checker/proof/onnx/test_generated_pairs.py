"""Generated pairs of ONNX files: what is proved runs to the same bits wherever the first file runs.

The generator (tests/support/pairs/onnx_*) knows nothing of the proof's tables. `python scripts/pairs.py` prints the
counts of docs/proof.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest

from graphfix.checker.proof import Proof
from graphfix.checker.proof.onnx.reading.constants import FileConstants
from tests.support.pairs.onnx_composites import composites
from tests.support.pairs.onnx_judge import Judge
from tests.support.pairs.onnx_pairs import changed, every_seed, examine
from tests.support.pairs.onnx_parts import KINDS
from tests.support.pairs.onnx_run import same
from tests.support.pairs.onnx_seeds import Seed, part

PARTS, LEAST = 12, 5_900
"""Of all pairs; each part has so many at least, so that there are more than 70,000."""
SHARE, OPERATORS = 24, 11
"""CI takes one (operator, kind of change) in so many, of one operator in so many."""


@pytest.fixture
def judge(tmp_path: Path) -> Iterator[Judge]:
    with Judge(tmp_path) as made:
        yield made


def _composite(name: str) -> Seed:
    return next(seed for seed in composites() if seed.name == name)


@pytest.mark.ci
@pytest.mark.parametrize("number", range(3))
def test_a_sample_of_what_is_proved_runs_to_the_same_bits(judge: Judge, number: int) -> None:
    tally = examine(every_seed(judge, part(number, OPERATORS)), judge, share=SHARE)
    assert tally.wrong == []
    assert tally.counts.total("run") > tally.counts.total("tried") / 10


@pytest.mark.full
@pytest.mark.parametrize("number", range(PARTS))
def test_what_is_proved_runs_to_the_same_bits(judge: Judge, number: int) -> None:
    tally = examine(every_seed(judge, part(number, PARTS)), judge)
    assert tally.wrong == []
    assert tally.counts.total("tried") > LEAST
    assert tally.counts.total("run") > tally.counts.total("tried") / 10


@pytest.mark.ci
def test_small_changes_of_composites_that_are_proved_run_to_the_same_bits(judge: Judge) -> None:
    given = [_composite(name) for name in ("If", "function", "outside", "expanded to a shape")]
    assert examine(given, judge, share=4).wrong == []


def test_attributes_that_are_not_compared_are_seen(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [_composite("function with an axis"), _composite("Scan"), _composite("a size through bytes")]
    monkeypatch.setattr(FileConstants, "attributes", lambda *_: ())
    assert examine(given, judge, ["attribute: another value"]).wrong


@pytest.mark.ci
def test_a_proof_that_believes_everything_is_seen(judge: Judge) -> None:
    """In values, or because the second file does not load, or fails; most kinds, and ones of every sort."""
    judge.proves = lambda *_: Proof("proved")
    seen = {wrong.kind for wrong in examine([_composite("raw")], judge).wrong}
    assert len(seen) > len(KINDS) / 3
    assert {"constant: values", "operand: one fewer", "result: empty", "declared: element type"} <= seen


def test_every_kind_of_change_changes_some_composite() -> None:
    left = set(KINDS)
    for seed in composites():
        left -= {kind for kind in left if any(data != seed.data for data in changed(seed, kind))}
    assert left == set()


def test_what_gives_something_else_the_second_time_is_left_out(judge: Judge) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> main () => (float[9] y) { y = RandomNormal <shape = [9]> () }'
    )
    assert judge.first(model.SerializeToString(), [{}]) is None


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1, True), ([1.0], [1.0, 1.0]), (1.0, None)])
def test_what_differs_in_a_bit_a_type_or_a_size_is_not_the_same(one: object, other: object) -> None:
    assert same(one, one)
    assert not same(one, other)


def test_one_nan_is_as_good_as_another() -> None:
    assert same(float("nan"), -float("nan"))

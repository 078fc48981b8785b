"""The whole pipeline on random small models: nothing changes but how broadcasts are spelled."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.support import engine
from tests.support.fuzz.onnx.checks import Seen, faults, implicit, run, same, session
from tests.support.fuzz.onnx.graphs import draft
from tests.support.fuzz.onnx.models import ONCE_WRONG, written

SEEDS = [
    range(30),
    pytest.param(range(30, 110), marks=pytest.mark.ci),
    pytest.param(range(110, 6400), marks=pytest.mark.full),
]


def examine(seeds: Iterable[int], folder: Path) -> tuple[list[str], int]:
    """What is wrong with the models of these seeds, and how many of them say nothing."""
    found: list[str] = []
    silent = 0
    for seed in seeds:
        wrong = faults(draft(seed), seed, folder)
        found += wrong or []
        silent += wrong is None
    return found, silent


@pytest.mark.needs_release("onnxruntime>=1.31")  # an older one runs fewer of the models
@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_random_models_compute_the_same_and_nothing_is_left_to_do(seeds: range, tmp_path: Path) -> None:
    found, silent = examine(seeds, tmp_path)
    assert found == []
    assert silent < len(seeds) // 10


@pytest.mark.parametrize("what", ONCE_WRONG)
def test_models_that_once_came_out_wrong(what: str, tmp_path: Path) -> None:
    assert faults(written(ONCE_WRONG[what]), 0, tmp_path) == []


def test_elements_that_may_be_overridden_are_no_evidence() -> None:
    text = """
        <ir_version: 8, opset_import: ["": 17]>
        g (float[6] x, int64[2] k, float[1,1] z) => (float[P,Q] y) <int64[2] k = {2, 3}>
        { a = Reshape (x, k) y = Add (a, z) }
    """
    original = onnx.parser.parse_model(text)
    model = engine.load(original)
    engine.fix(model)
    given = {"x": np.arange(6, dtype=np.float32), "z": np.ones((1, 1), np.float32), "k": np.array([3, 2])}
    before, after = (run(session(data), given) for data in (original.SerializeToString(), model.tobytes()))
    assert not isinstance(before, str)
    assert not isinstance(after, str)
    assert [value.tolist() for value in after] == [value.tolist() for value in before] == [[[1, 2], [3, 4], [5, 6]]]


def test_the_checks_see_a_broadcast_that_is_left() -> None:
    left = Seen("a", "Add", ((2, 3), (1, 3)), (2, 3))
    assert implicit(left, ranks_only=False) == [1]
    assert implicit(left, ranks_only=True) == []
    assert implicit(Seen("a", "Add", ((2, 3), (3,)), (2, 3)), ranks_only=True) == [1]
    assert implicit(Seen("m", "MatMul", ((2, 2, 3), (3, 4)), (2, 2, 4)), ranks_only=False) == [1]


def test_the_comparison_sees_the_sign_of_zero_and_forgives_only_nan() -> None:
    zero, minus = [np.zeros(1, np.float32)], [-np.zeros(1, np.float32)]
    quiet, other = ([np.array([bits], np.uint32).view(np.float32)] for bits in (0x7FC00000, 0x7FC00001))
    assert not same(zero, minus, exact=False)
    assert same(quiet, other, exact=False)
    assert not same(quiet, other, exact=True)

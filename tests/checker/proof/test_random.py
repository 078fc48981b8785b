"""Random models are proved equal to what `fix` makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from graphfix.results import GraphfixError
from tests.support import engine
from tests.support.fuzz.onnx.checks import OPTIONS
from tests.support.fuzz.onnx.graphs import draft as onnx_draft
from tests.support.fuzz.tflite.checks import prepared
from tests.support.fuzz.tflite.graphs import draft as tflite_draft
from tests.support.proved import unproved

SEEDS = [
    range(20),
    pytest.param(range(20, 70), marks=pytest.mark.ci),
    pytest.param(range(70, 2100), marks=pytest.mark.full),
]
UNPROVED = {"onnx": 250, "tflite": 100}
"""Of so many results one may be unproved. ONNX: a default of an input says of which rank a shape is. TFLite: the size
of a loop's state, or behind a PAD, that no stored shape tells is known to the rewriter, and not to the proof."""


def onnx_results(seeds: Iterable[int]) -> Iterator[tuple[int, str | None]]:
    for seed in seeds:
        made = onnx_draft(seed).model
        for options in OPTIONS:
            model = engine.load(made)
            try:
                engine.fix(model, **options)  # type: ignore[arg-type]  # the table's values fit their names
            except GraphfixError:
                continue  # sizes that do not meet
            yield seed, unproved(made.SerializeToString(), model.tobytes())


def tflite_results(seeds: Iterable[int]) -> Iterator[tuple[int, str | None]]:
    for seed in seeds:
        case = prepared(tflite_draft(seed), seed)
        for fixed in case.fixed:
            yield seed, unproved(case.file, fixed.data, fixed.bound)


def nearly_all_are_proved(results: Iterable[tuple[int, str | None]], one_in: int, least: int) -> None:
    entries = list(results)
    left = [entry for entry in entries if entry[1] is not None]
    assert len(entries) >= least
    assert len(left) * one_in <= len(entries), left


@pytest.mark.parametrize("seeds", SEEDS, ids=len)
def test_random_onnx_models_are_proved(seeds: range) -> None:
    nearly_all_are_proved(onnx_results(seeds), UNPROVED["onnx"], 5 * len(seeds))


@pytest.mark.parametrize("seeds", SEEDS, ids=len)
def test_random_tflite_models_are_proved(seeds: range) -> None:
    nearly_all_are_proved(tflite_results(seeds), UNPROVED["tflite"], 2 * len(seeds))

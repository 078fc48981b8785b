"""Random models are proved equal to what `fix` makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from fuzz_checks import OPTIONS
from fuzz_graphs import draft as onnx_draft
from fuzz_tflite_checks import prepared
from fuzz_tflite_graphs import draft as tflite_draft
from proved import unproved

from graphfix import api
from graphfix.results import GraphfixError

DEFAULT, LONG = 100, 2000
FOLLOWED = 100
"""Of so many TFLite results one may be unproved: the size of a loop's state, or behind a PAD, that no stored shape
tells is known to the rewriter, and not to the proof."""


def onnx_results(seeds: Iterable[int]) -> Iterator[tuple[int, str | None]]:
    for seed in seeds:
        made = onnx_draft(seed).model
        for options in OPTIONS:
            model = api.load(made)
            try:
                api.fix(model, **options)  # type: ignore[arg-type]  # the table's values fit their names
            except GraphfixError:
                continue  # sizes that do not meet
            yield seed, unproved(made.SerializeToString(), model.tobytes())


def tflite_results(seeds: Iterable[int]) -> Iterator[tuple[int, str | None]]:
    for seed in seeds:
        case = prepared(tflite_draft(seed), seed)
        for fixed in case.fixed:
            yield seed, unproved(case.file, fixed.data, fixed.bound)


def all_are_proved(seeds: range) -> None:
    results = list(onnx_results(seeds))
    assert len(results) > len(OPTIONS) * len(seeds) * 0.9
    assert [entry for entry in results if entry[1] is not None] == []


def nearly_all_are_proved(seeds: range) -> None:
    results = list(tflite_results(seeds))
    assert len(results) > 2 * len(seeds)
    left = [entry for entry in results if entry[1] is not None]
    assert len(left) * FOLLOWED <= len(results), left


def test_random_onnx_models_are_proved() -> None:
    all_are_proved(range(DEFAULT))


def test_random_tflite_models_are_proved() -> None:
    nearly_all_are_proved(range(DEFAULT))


@pytest.mark.slow
def test_many_more_random_onnx_models_are_proved() -> None:
    all_are_proved(range(DEFAULT, DEFAULT + LONG))


@pytest.mark.slow
def test_many_more_random_tflite_models_are_proved() -> None:
    nearly_all_are_proved(range(DEFAULT, DEFAULT + LONG))

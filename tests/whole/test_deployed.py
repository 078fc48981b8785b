"""Models as optimizers, quantizers and builders write them: fixed, proved, nothing left, and equal by runs."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import pytest

import graphfix
from graphfix.results.runtime_facts import SIZE_0_KEEPS_AXES
from tests.support.fixed_files import FixedFiles, assert_runs_equal
from tests.support.needs import of_16_channels
from tests.support.places import MODELS
from tests.support.tiers import COVER_DEPLOYED, all_but_one_in, in_turn, tiered

TARGETS = ("explicit", "ranks")
FOLDER = MODELS / "deployed"
PATHS = sorted(path for suffix in ("onnx", "tflite") for path in FOLDER.rglob(f"*.{suffix}"))

LEFT: Mapping[tuple[str, str], str] = {
    ("litert_quantized/gpt2_free_dynamic8", "explicit"): "XNNPACK takes the int8 operand of a BATCH_MATMUL in float32",
}
"""By file and target why one of its sites is left."""
NOT_EQUAL_BY_RUNS: Mapping[tuple[str, str], str] = (
    {
        ("optimized/prototypes_cdist_legacy_extended", "explicit"): (
            "at batch 0 onnxruntime's ReduceSum along axis -1 returns its operand (tests/support/exported_gaps.py)"
        ),
    }
    if SIZE_0_KEEPS_AXES.holds(metadata.version("onnxruntime"))
    else {}
)
"""What the runs do not find equal, and why."""


def name_of(path: Path) -> str:
    return path.relative_to(FOLDER).with_suffix("").as_posix()


EACH = in_turn(
    tiered(PATHS, lambda path: name_of(path) in COVER_DEPLOYED, all_but_one_in(2, PATHS), name=name_of), TARGETS
)
"""The cover for both targets, in CI half of all models for one of them in turn, in `full` the rest."""
COVER = [path for path in PATHS if name_of(path) in COVER_DEPLOYED]


def test_the_cover_and_the_exceptions_are_files() -> None:
    assert {name_of(path) for path in PATHS} >= {*COVER_DEPLOYED, *(name for name, _ in (*LEFT, *NOT_EQUAL_BY_RUNS))}


@pytest.mark.parametrize(("path", "target"), EACH)
def test_a_deployed_model_is_fixed_and_proved(path: Path, target: str, fixed: FixedFiles) -> None:
    out, outcome = fixed(path, target)
    verdict = graphfix.verify(path, out, proof="only")
    assert verdict.status == "proved", verdict.proof
    why = LEFT.get((name_of(path), target))
    left = [site.reason or "" for site in outcome.sites if site.status == "left"]
    assert left == [] if why is None else [why in reason for reason in left] == [True]


# --- runs -------------------------------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.needs_release("onnxruntime>=1.31")  # an older one has not the kernels (tests/scripts/test_deployed.py)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", of_16_channels(pytest.param(path, id=name_of(path)) for path in PATHS))
def test_a_deployed_model_runs_equal(path: Path, target: str, fixed: FixedFiles) -> None:
    assert_runs_equal(path, target, fixed, name_of(path), NOT_EQUAL_BY_RUNS)


@pytest.mark.ci
@pytest.mark.parametrize("path", of_16_channels(pytest.param(path, id=name_of(path)) for path in COVER))
def test_a_deployed_model_of_the_cover_runs_equal(path: Path, fixed: FixedFiles) -> None:
    assert_runs_equal(path, "explicit", fixed, name_of(path), NOT_EQUAL_BY_RUNS)

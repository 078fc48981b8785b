"""What Arm's converter to TOSA accepts of the real TFLite models, it accepts when their ranks are equal."""

from __future__ import annotations

from pathlib import Path

import pytest

import graphfix
from tests.support.places import zoo_models
from tests.support.runtimes.arm_converter import convert

REFUSED = {"nmp.tflite", "BirdNET_GLOBAL_6K_V2.4_Model_FP32.tflite"}
"""Refused as they come: sizes that are free."""


@pytest.mark.tosa
@pytest.mark.full
@pytest.mark.parametrize("path", zoo_models("tflite"))
def test_the_converter_accepts_with_equal_ranks_what_it_accepted_before(path: Path, tmp_path: Path) -> None:
    fixed = tmp_path / "fixed.tflite"
    graphfix.fix_file(path, fixed, target="ranks", check_result=False)
    before, after = convert(path, tmp_path / "before.mlirbc"), convert(fixed, tmp_path / "after.mlirbc")
    assert before.accepted == (path.name not in REFUSED), before.why
    assert after.accepted or not before.accepted, after.why


@pytest.mark.tosa
@pytest.mark.full
def test_the_converter_refuses_what_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(b"no model")
    assert not convert(tmp_path / "m.tflite", tmp_path / "o.mlirbc").accepted

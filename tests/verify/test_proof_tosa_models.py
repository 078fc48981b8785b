"""Every model that target tosa takes is proved, at the sizes that it was fixed for, but for those that are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from proof_table import proved

from graphfix.results import GraphfixError

MODELS = Path(__file__).parents[2] / "models"
ALL = sorted([*MODELS.glob("*.onnx"), *MODELS.glob("*.tflite")])
REAL = sorted([*MODELS.glob("zoo/*/*.onnx"), *MODELS.glob("zoo/*/*.tflite")])
UNDEFINED = {"atan2_unequal.tflite"}
"""LiteRT reads behind the end of an operand: the model as it is computes nothing that a proof could compare."""


@pytest.mark.parametrize("path", [path for path in ALL if path.name not in UNDEFINED], ids=lambda path: path.name)
def test_a_model_that_is_fixed_for_tosa_is_proved(path: Path, tmp_path: Path) -> None:
    try:
        verdict = proved(path, tmp_path / path.name, "tosa")
    except GraphfixError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert "needs sizes" in refusal or "GF105" in refusal
        return
    assert verdict.proof is not None
    assert verdict.proof["reason"] is None


@pytest.mark.parametrize("name", sorted(UNDEFINED))
def test_what_the_first_file_leaves_open_is_not_proved(name: str, tmp_path: Path) -> None:
    assert proved(MODELS / name, tmp_path / name, "tosa").status == "undecided"


@pytest.mark.slow
@pytest.mark.zoo
@pytest.mark.parametrize("path", REAL, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_real_model_that_is_fixed_for_tosa_is_proved(path: Path, tmp_path: Path) -> None:
    verdict = proved(path, tmp_path / path.name, "tosa")
    assert verdict.proof is not None
    assert verdict.proof["reason"] is None

"""Recurrent operators on their way to TOSA."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
import pytest

from graphfix.tosa import tosa_file
from tests.support.onnx.recurrent import ALL

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.tosa, pytest.mark.ci]


@pytest.mark.parametrize("case", ALL)
def test_an_unrolled_operator_converts_and_agrees(case: str, tmp_path: Path) -> None:
    onnx.save(ALL[case].model, tmp_path / "m.onnx")
    outcome = tosa_file(tmp_path / "m.onnx", tmp_path / "m.tosa", run=True)
    assert outcome.conversion is not None
    assert outcome.conversion.status == "agrees", outcome.conversion.reason

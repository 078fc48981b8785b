"""Every TFLite operator on values of its whole domain: what TOSA gets wrong is rewritten, or named beforehand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import tosa_values_tflite as tflite
from tosa_tables import values as tosa_values

from tests.support.runtimes.tosa_loop import needs_tools

pytestmark = needs_tools
PARTS, LEAST = 4, 80
"""Tests that share the operators, and how many cases each has at least."""
NEEDLESS = {("POW", "positive bases"), ("POW", "a root"), ("RANK", "")}
"""What is named because nothing says which values it meets, or because it is an output that is known before."""


@pytest.mark.parametrize("step", [pytest.param(8, marks=pytest.mark.ci), pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("part", range(PARTS))
def test_all_operators_agree_or_are_named(part: int, step: int) -> None:
    """CI takes every eighth case."""
    operators = sorted({case.operator for case in tflite.cases()})[part::PARTS]
    results = tosa_values.audit([case for case in tflite.cases() if case.operator in operators][::step])
    assert len(results) > LEAST / step
    assert not [tosa_values.line(result) for result in results if result.status in tosa_values.WRONG]
    asked = {(result.case.operator, result.case.note) for result in results}
    needless = {(result.case.operator, result.case.note) for result in results if result.status == "needlessly named"}
    assert needless == NEEDLESS & asked


@pytest.mark.ci
def test_what_is_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the table an operator that TOSA gets wrong is found, and one that does not convert."""
    monkeypatch.setattr("graphfix.targets.tosa.tflite.form", lambda _: None)
    wanted = {("NEG", "int8"), ("TOPK_V2", "float32")}
    cases = [case for case in tflite.cases() if (case.operator, case.types) in wanted and not case.note]
    assert {result.status for result in tosa_values.audit(cases)} == {"differs", "does not convert"}

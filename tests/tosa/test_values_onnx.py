"""ONNX operators on values of their whole domain: what TOSA gets wrong is rewritten, or named beforehand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import tosa_values_onnx as onnx_values
from tosa_tables import values as tosa_values

from tests.support.runtimes.tosa_loop import needs_tools

pytestmark = needs_tools
PARTS, LEAST = 4, 60
"""Tests that share the operators, and how many cases each has at least."""
NEEDLESS = {("Pow", "a root"), ("LpNormalization", "")}
"""What is named because nothing says which values it meets."""


@pytest.mark.parametrize("step", [pytest.param(8, marks=pytest.mark.ci), pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("part", range(PARTS))
def test_all_operators_agree_or_are_named(part: int, step: int) -> None:
    """CI takes every eighth case."""
    operators = sorted({case.operator for case in onnx_values.cases()})[part::PARTS]
    results = tosa_values.audit([case for case in onnx_values.cases() if case.operator in operators][::step])
    assert len(results) > LEAST / step
    assert not [tosa_values.line(result) for result in results if result.status in tosa_values.WRONG]
    needless = {(result.case.operator, result.case.note) for result in results if result.status == "needlessly named"}
    assert needless <= NEEDLESS


@pytest.mark.ci
def test_what_is_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the questions an operator that TOSA gets wrong is found, and one that does not convert."""
    monkeypatch.setattr("graphfix.targets.tosa.onnx.form", lambda _: None)
    wanted = {("Neg", "int8"), ("Cosh", "float32")}
    cases = [case for case in onnx_values.cases() if (case.operator, case.types) in wanted]
    assert {result.status for result in tosa_values.audit(cases)} == {"differs", "does not convert"}

"""The audit of onnxruntime's own operators, of ai.onnx.ml, and of the standard ones since operator set 23.

Random nodes of each operator that has a CPU kernel run in onnxruntime. What the rewriter's view and the proof claim of
the results' sizes and element types is what onnxruntime returns; where onnxruntime's own inference at load is wrong is
listed. A kernel without trials fails by its name, as one of a new release does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.onnx.contrib_audit import Audit, Claimant, audit, by_proof, by_view, installed, kernels
from tests.support.onnx.contrib_calls import CALLS
from tests.support.onnx.contrib_calls.drawing import Key
from tests.support.onnx.contrib_calls.unrun import UNRUN
from tests.support.pairs.onnx_run import Runner

FEW = 6
MANY = [pytest.param(60, marks=pytest.mark.ci), pytest.param(600, marks=pytest.mark.full)]
LEAST, SHARE = 20, 0.3
"""How many trials of an operator, and which share of them, must run for the audit to count."""


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    made = Runner(Path())
    yield made
    made.close()


def name_of(key: Key) -> str:
    return f"{key[0]}.{key[1]}".strip(".")


def audited(count: int, claimant: Claimant, runner: Runner, folder: Path, seed: int = 0) -> list[Audit]:
    return [audit(key, count, claimant, runner, folder, seed) for key in installed()]


def test_every_operator_with_a_cpu_kernel_has_trials() -> None:
    assert sorted(map(name_of, kernels() - CALLS.keys() - UNRUN.keys())) == []


@pytest.mark.parametrize("claimant", [by_view, by_proof])
def test_no_claim_contradicts_onnxruntime(claimant: Claimant, runner: Runner, tmp_path: Path) -> None:
    told = audited(FEW, claimant, runner, tmp_path)
    assert [text for each in told for text in each.wrong] == []
    assert [name_of(each.operator) for each in told if not each.ran] == []


@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize("claimant", [by_view, by_proof])
def test_no_claim_contradicts_onnxruntime_in_many_trials(
    claimant: Claimant, count: int, runner: Runner, tmp_path: Path
) -> None:
    told = audited(count, claimant, runner, tmp_path, seed=1)
    assert [text for each in told for text in each.wrong] == []
    assert [name_of(each.operator) for each in told if each.ran < max(LEAST, SHARE * each.tried)] == []

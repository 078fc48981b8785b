"""The audit of onnxruntime's own operators, of ai.onnx.ml, and of the standard ones since operator set 23.

Random nodes of each operator that has a CPU kernel run in onnxruntime. What the rewriter's view and the proof claim of
the results' sizes and element types is what onnxruntime returns; where onnxruntime's own inference at load is wrong is
listed. A kernel without trials fails by its name, as one of a new release does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto

from tests.support.audit_views import stated
from tests.support.onnx.contrib_audit import (
    Audit,
    Claim,
    Claimant,
    Claims,
    audit,
    by_load,
    by_proof,
    by_view,
    in_one_buffer,
    installed,
    kernels,
    wrong_claim,
)
from tests.support.onnx.contrib_calls import CALLS, trials
from tests.support.onnx.contrib_calls.drawing import MICROSOFT, Key
from tests.support.onnx.contrib_calls.unrun import UNRUN
from tests.support.onnx.wrong_inference import WRONG_AT_LOAD
from tests.support.pairs.onnx_instances import Instance, bare
from tests.support.pairs.onnx_run import Runner

COUNTS = [pytest.param(15, marks=pytest.mark.ci), pytest.param(600, marks=pytest.mark.full)]
SHARE = 0.3
"""The share of an operator's trials that must run for the audit to count."""


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    made = Runner(Path())
    yield made
    made.close()


def name_of(key: Key) -> str:
    return f"{key[0]}.{key[1]}".strip(".")


def audited(count: int, claimants: Sequence[Claimant], runner: Runner, folder: Path) -> list[Audit]:
    return [audit(key, count, claimants, runner, folder) for key in installed()]


def test_every_operator_with_a_cpu_kernel_has_trials() -> None:
    assert sorted(map(name_of, kernels() - CALLS.keys())) == []


@pytest.mark.parametrize("key", UNRUN, ids=name_of)
def test_an_operator_that_no_model_of_one_node_runs_is_refused_for_its_reason(key: Key, runner: Runner) -> None:
    for trial in trials(key, 20):
        ran = runner.run(bare(trial).SerializeToString(), [trial.given], "onnxruntime")
        assert not ran.runs
        reasons = [ran.refused, *(result for result in ran.results if isinstance(result, str))]
        assert any(UNRUN[key] in reason for reason in reasons), reasons


SHARED = {
    "GroupQueryAttention": {"r1": "o3", "r2": "o4"},
    "SparseAttention": {"r1": "o3", "r2": "o4"},
}
"""The operators of decoders whose present state may take the buffer of the past: the operand by result."""


@pytest.mark.ci
@pytest.mark.parametrize("claimant", [by_view, by_proof])
@pytest.mark.parametrize("op", SHARED)
def test_no_claim_contradicts_a_node_whose_past_and_present_are_one_buffer(
    op: str, claimant: Claimant, tmp_path: Path
) -> None:
    choose = random.Random(op)  # noqa: S311 -- sizes, no secrets
    ran = 0
    for trial in trials((MICROSOFT, op), 120):
        if not fits(trial):
            continue
        results = in_one_buffer(trial, SHARED[op])
        if results is None:
            continue
        ran += 1
        claims = claimant(stated(trial, choose), {**trial.feeds, **results}, tmp_path)
        assert wrong_claim(claims, results) == ""
    assert ran >= 10


def fits(trial: Instance) -> bool:
    """Whether past has room for the new keys, and the head's size is one that the kernel takes."""
    if "o3" not in trial.feeds or len(trial.node.output) < 3 or np.shape(trial.feeds["o3"])[3] % 16:
        return False
    total = trial.feeds["o6" if trial.node.op_type == "GroupQueryAttention" else "o7"]
    return int(np.asarray(total)) <= np.shape(trial.feeds["o3"])[2]


@pytest.mark.parametrize("count", COUNTS)
def test_no_claim_contradicts_onnxruntime(count: int, runner: Runner, tmp_path: Path) -> None:
    told = audited(count, [by_view, by_proof], runner, tmp_path)
    assert [text for each in told for text in each.wrong] == []
    assert [name_of(each.operator) for each in told if each.ran < SHARE * each.tried] == []


# --- the audit itself -------------------------------------------------------------------------------------------------


def like_the_first(model: ModelProto, values: Mapping[str, object], _: Path) -> Claims:
    """A wrong rule: every result has the sizes of the first operand and is float32."""
    first = np.shape(values[model.graph.node[0].input[0]])  # type: ignore[arg-type]  # a tensor
    return {name: Claim(list(first), TensorProto.FLOAT) for name in model.graph.node[0].output}


@pytest.mark.parametrize("op", ["FusedMatMul", "ExpandDims", "EmbedLayerNormalization"])
def test_a_rule_that_claims_wrong_sizes_is_seen(op: str, runner: Runner, tmp_path: Path) -> None:
    assert audit((MICROSOFT, op), 10, [like_the_first], runner, tmp_path).wrong


def test_a_rule_that_claims_a_wrong_type_is_seen(runner: Runner, tmp_path: Path) -> None:
    wrong = audit((MICROSOFT, "Trilu"), 10, [like_the_first], runner, tmp_path).wrong
    assert any("element type" in text for text in wrong)


# --- what onnxruntime infers when it loads ----------------------------------------------------------------------------


@pytest.mark.parametrize("count", [pytest.param(6, marks=pytest.mark.ci), pytest.param(400, marks=pytest.mark.full)])
def test_load_time_inference_contradicts_the_kernels_of_the_listed_operators_alone(
    count: int, runner: Runner, tmp_path: Path
) -> None:
    told = audited(count, [by_load], runner, tmp_path)
    assert sorted({name_of(each.operator) for each in told if each.wrong} - set(map(name_of, WRONG_AT_LOAD))) == []


@pytest.mark.ci
@pytest.mark.parametrize("key", sorted(WRONG_AT_LOAD), ids=name_of)
def test_load_time_inference_contradicts_the_kernel_of_each_listed_operator(
    key: Key, runner: Runner, tmp_path: Path
) -> None:
    is_wrong = WRONG_AT_LOAD[key].versions.include(onnxruntime.__version__)
    assert bool(audit(key, 150, [by_load], runner, tmp_path, to_the_first=True).wrong) == is_wrong

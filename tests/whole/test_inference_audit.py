"""The audit: what is said of a node's result sizes before it runs is what onnxruntime, or onnx's reference, returns.

onnx's inference is asked for the operators of the rewriter's list, which believes it; the rewriter's view and the proof
are asked for every operator that onnxruntime runs, by their public faces. Attributes and sizes are random, 0 and 1 are
among them; sizes are told as numbers, as symbols of any size at run time, and as constants' values or not.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pytest

from graphfix.formats.onnx.infer.audited import AUDITED
from tests.support.audit_inference import claims, contradiction, results_of
from tests.support.audit_trials import trials
from tests.support.audit_views import proof_contradiction, runs_as_stated, stated, view_contradiction
from tests.support.pairs.onnx_instances import Instance
from tests.support.pairs.onnx_run import Runner
from tests.support.pairs.onnx_seeds import Wanted, instances, part

Results = Mapping[str, object]
LEAST = 20
"""How often a listed operator must have run for the audit to say something of it."""
PARTS = 6
ALL_TRIALS, SOME_TRIALS = 100, 8


class Told(NamedTuple):
    """How often an operator ran, by version, and what was said of it that is not so."""

    ran: Counter[str]
    wrong: list[str]


def _asked(
    wanted: Wanted, count: int, asked: Callable[[Instance, Results, random.Random, Runner], str], *, only: str = ""
) -> Told:
    """Ask about the operators that are wanted, where one runtime runs them, or `only` that one."""
    runner, told, listed = Runner(Path()), Told(Counter(), []), defaultdict(list)
    for instance, runtime, _ in instances(runner, wanted):
        if only in ("", runtime):
            listed[instance.operator, runtime].append(instance)
    for (operator, runtime), own in listed.items():
        choose = random.Random(operator)  # noqa: S311 -- sizes, no secrets
        for trial in trials(own, count, crc32(operator.encode())):
            results = results_of(trial, runner, runtime)
            if results is not None:
                told.ran[operator] += 1
                wrong = "" if only and _reduces_nothing(trial) else asked(trial, results, choose, runner)
                told.wrong.extend([f"{operator}: {wrong}"] if wrong else [])
    runner.close()
    return told


def _reduces_nothing(trial: Instance) -> bool:
    """Whether it reduces a tensor of no elements.

    onnxruntime's kernels before operator set 18 leave its sizes as they are along negative axes, and the rank too:
    (4, 0, 3) stays (4, 0, 3) in a ReduceMean along -2 without keepdims. The specification says (4, 3); so do the view
    and the proof where the 0 is a symbol's.
    """
    data = trial.feeds.get(trial.node.input[0]) if trial.node.input else None
    return trial.node.op_type.startswith(("Reduce", "Arg")) and np.size(data) == 0  # type: ignore[arg-type]


def _by_onnx(trial: Instance, results: Results, choose: random.Random, _: Runner) -> str:
    return next(filter(None, (contradiction(told, results) for told in claims(trial, choose))), "")


def _by_view(trial: Instance, results: Results, choose: random.Random, runner: Runner) -> str:
    shapes = {name: np.shape(value) for name, value in results.items() if isinstance(value, TENSOR)}
    shapes |= {name: np.shape(value) for name, value in trial.feeds.items() if isinstance(value, TENSOR)}
    model = stated(trial, choose)
    wrong = view_contradiction(model, shapes)
    return wrong if wrong and runs_as_stated(model, trial, runner) else ""


TENSOR = (np.ndarray, np.generic)
NAMES = sorted(f"{domain}{'.' * bool(domain)}{op}" for domain, op in AUDITED)


def _versions_of(name: str) -> Wanted:
    return lambda operator: operator.rpartition("-")[0] == name


@pytest.mark.parametrize("count", [pytest.param(150, marks=pytest.mark.ci), pytest.param(1500, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", NAMES)
def test_onnx_says_of_a_listed_operator_what_runtimes_return(name: str, count: int) -> None:
    told = _asked(_versions_of(name), count, _by_onnx)
    assert told.wrong == []
    assert told.ran
    assert min(told.ran.values()) >= LEAST


@pytest.mark.ci
@pytest.mark.parametrize("name", ["MaxPool", "ReduceMax"])
def test_an_operator_of_which_onnx_is_wrong_is_seen(name: str) -> None:
    assert _asked(_versions_of(name), 60, _by_onnx).wrong


COUNTS = [pytest.param(SOME_TRIALS, marks=pytest.mark.ci), pytest.param(ALL_TRIALS, marks=pytest.mark.full)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("number", range(PARTS))
def test_the_view_says_of_any_operator_what_onnxruntime_returns(number: int, count: int) -> None:
    told = _asked(part(number, PARTS), count, _by_view, only="onnxruntime")
    assert told.wrong == []
    assert told.ran.total() > count * len(told.ran) / 3


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("number", range(PARTS))
def test_the_proof_says_of_any_operator_what_onnxruntime_returns(number: int, count: int, tmp_path: Path) -> None:
    def by_proof(trial: Instance, results: Results, choose: random.Random, runner: Runner) -> str:
        tensors = {name: np.asarray(value) for name, value in results.items() if isinstance(value, TENSOR)}
        model = stated(trial, choose)
        wrong = proof_contradiction(model, tensors, tmp_path)
        return wrong if wrong and runs_as_stated(model, trial, runner) else ""

    told = _asked(part(number, PARTS), count, by_proof, only="onnxruntime")
    assert told.wrong == []
    assert told.ran.total() > count * len(told.ran) / 3

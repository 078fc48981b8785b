"""The audit: what is said of a node's result sizes before it runs is what onnxruntime, or onnx's reference, returns.

The rewriter's view and the proof are asked for every operator that onnxruntime runs, by their public faces.
Attributes and sizes are random, 0 and 1 are among them; sizes are told as numbers, as symbols of any size at run
time, and as constants' values or not. What is said is computed with the sizes of the run, also where it is a term.
Random chains of shape arithmetic come after single nodes: of those tests/formats/onnx/test_infer_random.py asks the
view.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pytest

from graphfix.checker.proof.core.arithmetic import Arithmetic
from graphfix.shapes.terms import Terms
from tests.support.audit_inference import results_of
from tests.support.audit_trials import trials
from tests.support.audit_views import proof_contradiction, runs_as_stated, stated, view_contradiction
from tests.support.onnx.random_builder import Case
from tests.support.onnx.random_models import KINDS
from tests.support.pairs.onnx_instances import Instance
from tests.support.pairs.onnx_run import Runner
from tests.support.pairs.onnx_seeds import Wanted, instances, part
from tests.support.runtimes.onnx_runs import run

Results = Mapping[str, object]
PARTS = 6
ALL_TRIALS, SOME_TRIALS = 100, 4


class Told(NamedTuple):
    """How often an operator ran, by version, and what was said of it that is not so."""

    ran: Counter[str]
    wrong: list[str]


def _asked(
    wanted: Wanted,
    count: int,
    asked: Callable[[Instance, Results, random.Random, Runner], str],
    *,
    only: str = "",
    to_the_first: bool = False,
) -> Told:
    """Ask about the operators that are wanted, where one runtime runs them, or `only` that one.

    All trials are asked about, or those up to the first wrong claim.
    """
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
                left_out = only and (_reduces_nothing(trial) or _pools_nothing(trial))
                wrong = "" if left_out else asked(trial, results, choose, runner)
                told.wrong.extend([f"{operator}: {wrong}"] if wrong else [])
            if told.wrong and to_the_first:
                break
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


def _pools_nothing(trial: Instance) -> bool:
    """Whether it pools an axis without elements, which runs for an empty batch alone: assumed away, and listed."""
    if trial.node.op_type not in ("AveragePool", "LpPool", "MaxPool"):
        return False
    shape = np.shape(trial.feeds[trial.node.input[0]])  # type: ignore[arg-type]  # a tensor: it ran
    return shape[:1] == (0,) and 0 in shape[2:]


TENSOR = (np.ndarray, np.generic)


def _by_view_and_proof(
    terms: Counter[str], folder: Path, trial: Instance, results: Results, choose: random.Random, runner: Runner
) -> str:
    """Return the first wrong claim about a trial; `terms` counts the view's sizes that are terms, by operator."""
    tensors = {name: np.asarray(value) for name, value in results.items() if isinstance(value, TENSOR)}
    shapes = {name: np.shape(value) for name, value in trial.feeds.items() if isinstance(value, TENSOR)}
    shapes |= {name: value.shape for name, value in tensors.items()}
    model = stated(trial, choose)
    claims = {
        "view": view_contradiction(model, shapes, terms),
        "proof": proof_contradiction(model, tensors, folder),
    }
    wrong = next((f"{claimant}: {text}" for claimant, text in claims.items() if text), "")
    return wrong if wrong and runs_as_stated(model, trial, runner) else ""


COUNTS = [pytest.param(SOME_TRIALS, marks=pytest.mark.ci), pytest.param(ALL_TRIALS, marks=pytest.mark.full)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("number", range(PARTS))
def test_the_view_and_the_proof_say_of_any_operator_what_onnxruntime_returns(
    number: int, count: int, tmp_path: Path
) -> None:
    terms: Counter[str] = Counter()
    told = _asked(part(number, PARTS), count, partial(_by_view_and_proof, terms, tmp_path), only="onnxruntime")
    assert told.wrong == []
    assert told.ran.total() > count * len(told.ran) / 3
    assert _without_terms(told, terms) == []


COMPUTED = """
AveragePool Concat Conv ConvTranspose DepthToSpace Flatten LpPool MaxPool Pad Resize SpaceToDepth Split
""".split()
"""Operators whose results have sizes that are computed of the operands' sizes, where those are symbols.

Slice, Tile, Reshape and what else is told its sizes by an operand have chains of shape arithmetic.
"""


def _without_terms(told: Told, terms: Counter[str]) -> list[str]:
    """The operators that ran in many trials and of which no size was told as a term."""
    ran = Counter[str]()
    for operator, count in told.ran.items():
        ran[operator.rpartition("-")[0]] += count
    return [op for op in COMPUTED if ran[op] >= OFTEN and not terms[op]]


OFTEN = 200
"""So many trials of an operator tell a term at least once."""


# --- random models of several nodes -----------------------------------------------------------------------------------


SHORT, LONG = 60, 2100
CHAINED = """
AveragePool Concat ConstantOfShape Conv MaxPool Pad Range Reshape Resize Slice Split Tile
""".split()
"""Of what an Expand returns the proof reads the operand."""


def _of_models(kind: str, count: int, folder: Path, *, to_the_first: bool = False) -> Told:
    """What the proof says of so many random models, and how often it told a term, by operator.

    All models are asked about, or those up to the first wrong claim.
    """
    choose, told = random.Random(kind), Told(Counter(), [])  # noqa: S311 -- sizes, no secrets
    for _ in range(count):
        case = KINDS[kind](choose)
        try:
            found = run(case.proto, **case.feeds)
        except Exception:  # noqa: BLE001, S112 -- onnxruntime's own classes: a model that it refuses says nothing
            continue
        values = dict(zip([value.name for value in case.proto.graph.output], found, strict=True))
        tensors = {name: value for name, value in values.items() if isinstance(value, TENSOR)}
        wrong = proof_contradiction(case.proto, tensors, folder, told.ran)
        told.wrong.extend([wrong] if wrong and not _shaped_by_0(case, tensors) else [])
        if told.wrong and to_the_first:
            break
    return told


def _shaped_by_0(case: Case, values: Mapping[str, np.ndarray]) -> bool:
    """Whether a Reshape is given a 0 by a computed size: the proof lists that it assumes this not to be."""
    targets = [node.input[1] for node in case.proto.graph.node if node.op_type == "Reshape"]
    return any(0 in values[name] for name in targets if name in values)


MODELS = [pytest.param(SHORT, marks=pytest.mark.ci), pytest.param(LONG, marks=pytest.mark.full)]


@pytest.mark.parametrize("count", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_proof_says_of_random_models_what_onnxruntime_returns(kind: str, count: int, tmp_path: Path) -> None:
    told = _of_models(kind, count, tmp_path)
    assert told.wrong == []
    if kind == "chains":
        assert [op for op in CHAINED if told.ran[op] < count // 100] == []
        assert told.ran.total() >= count


FAULTS: Mapping[str, tuple[str, object]] = {
    "a size is rounded down": ("ceildiv", Arithmetic.floordiv),
    "bounds of slices are not clamped": ("lesser", lambda _, one, __: one),
    "the greater of two is the first": ("greater", lambda _, one, __: one),
}


@pytest.mark.ci
@pytest.mark.parametrize(("name", "other"), FAULTS.values(), ids=FAULTS)
def test_a_fault_in_the_arithmetic_of_the_proof_is_seen(
    name: str, other: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Arithmetic, name, other)
    assert _of_models("chains", 2 * SHORT, tmp_path, to_the_first=True).wrong


@pytest.mark.ci
def test_a_fault_in_the_arithmetic_of_the_view_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Terms, "ceildiv", Terms.floordiv)
    asked = partial(_by_view_and_proof, Counter(), tmp_path)
    pools = _asked(lambda name: name.rpartition("-")[0] == "MaxPool", 60, asked, only="onnxruntime", to_the_first=True)
    assert [text.partition(": ")[2].partition(":")[0] for text in pools.wrong] == ["view"]

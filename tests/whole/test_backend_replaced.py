"""onnx's own backend suite under the rewrites that replace whole nodes: the same bits, and nothing left to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from graphfix.api import pipeline
from graphfix.engine.request import Request
from tests.support import engine
from tests.support.named import rules
from tests.support.onnx.backend_cases import Case, all_cases
from tests.support.runtimes.onnx_runs import run

NAMES = (
    "upgrade-legacy-broadcast",
    "upgrade-opset",
    "inline-decided-branches",
    "fold-shape-arithmetic",
    "pow-to-mul",
    "resize-nearest-to-expand",
    "decompose-prelu",
)
RULES = rules(*NAMES)


def same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.dtype.kind not in "fc":
            return one.dtype == other.dtype and np.array_equal(one, other)
        signs = (np.signbit(one.real) == np.signbit(other.real)) | np.isnan(one)
        return np.array_equal(one, other, equal_nan=True) and bool(signs.all())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def outputs(case: Case, model: object) -> list[object] | None:
    """What onnxruntime gives, None where it has no kernel for the model."""
    try:
        return [run(model, **case.feeds(inputs)) for inputs, _ in case.sets]  # type: ignore[arg-type] # also sequences
    except Exception:  # noqa: BLE001 -- whatever onnxruntime raises, the original is then not compared
        return None


def examine(cases: Sequence[Case]) -> tuple[list[str], Counter[str]]:
    """What is wrong, and how many models each rewrite has changed."""
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    for case in cases:
        opened = engine.load(case.model)
        outcome = pipeline.fix(opened, Request(), RULES)
        if not outcome.changed:
            continue
        counts.update(name for name, count in outcome.rewrites.items() if count)
        data = opened.tobytes()
        before = outputs(case, case.model)
        if before is not None and not same(before, outputs(case, type(case.model).FromString(data))):
            wrong.append(f"{case.name}: differs after {dict(outcome.rewrites)}")
        again = engine.load(data)
        if any(pipeline.fix(again, Request(), RULES).rewrites.values()):
            wrong.append(f"{case.name}: a second run finds more to do")
    return wrong, counts


@pytest.mark.ci
def test_models_of_every_operator_compute_the_same() -> None:
    wrong, counts = examine(all_cases())
    assert wrong == []
    assert counts["upgrade-opset"] > 300
    assert counts["fold-shape-arithmetic"] > 120
    assert all(counts[name] for name in NAMES if name != "resize-nearest-to-expand")

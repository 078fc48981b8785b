"""Random models of the kinds whose sizes are easily told wrong: no size of the view is one that a run contradicts.

The witness is onnxruntime; a model that it refuses says nothing and is not counted.
"""

from __future__ import annotations

from random import Random

import pytest

import graphfix
from graphfix.formats.onnx import OnnxModel
from graphfix.formats.onnx.infer import audited, forward, rules
from tests.support.onnx.random_builder import Case
from tests.support.onnx.random_models import KINDS
from tests.support.runtimes.onnx_runs import run
from tests.support.tiers import tiered

SHORT, LONG = 40, 2100
"""Models of each kind that are run by plain `pytest`, and by scripts/full_check.sh: 21,000 in all."""
SAMPLES = [(kind, count) for count in (SHORT, LONG) for kind in KINDS]


def contradictions(case: Case) -> list[str] | None:
    """The sizes of the view that the run gives otherwise; None where the runtime refuses the model."""
    try:
        found = run(case.proto, **case.feeds)
    except Exception:  # noqa: BLE001 -- onnxruntime's own classes
        return None
    observed = {name: array.shape for name, array in case.feeds.items()}
    observed |= {
        output.name: array.shape
        for output, array in zip(case.proto.graph.output, found, strict=True)
        if hasattr(array, "shape")
    }
    opened = graphfix.load(case.proto)
    assert isinstance(opened, OnnxModel)
    named: dict[object, int] = {}
    wrong: list[str] = []
    scope = opened._facts.main
    for name, shape in scope.shapes.items():
        if shape.axes is None or name not in observed:
            continue
        if len(shape.axes) != len(observed[name]):
            wrong.append(f"{name}{shape} is {observed[name]}")
            continue
        for size, real in zip(shape.axes, observed[name], strict=True):
            if (size if isinstance(size, int) else named.setdefault(size.parts, real)) != real:
                wrong.append(f"{name}{shape} is {observed[name]}")
    return wrong


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        pytest.param(*sample.values[0], id=sample.id, marks=sample.marks)
        for sample in tiered(
            SAMPLES,
            plain=lambda it: it[1] == SHORT,
            full=lambda it: it[1] == LONG,
            name=lambda it: f"{it[1]} {it[0]}",
        )
    ],
)
def test_no_size_of_the_view_is_one_that_a_run_contradicts(kind: str, count: int) -> None:
    random = Random(kind)  # noqa: S311 -- the same models each time
    tried = ran = 0
    while ran < count:
        tried += 1
        assert tried < 20 * count
        case = KINDS[kind](random)
        wrong = contradictions(case)
        if wrong is not None:
            ran += 1
            assert not wrong, (tried, wrong, [str(node) for node in case.proto.graph.node])


def test_a_pool_that_onnx_is_asked_for_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "AUDITED", audited.AUDITED | {("", "MaxPool"), ("", "LpPool"), ("", "AveragePool")})
    for op in ("MaxPool", "LpPool", "AveragePool"):
        monkeypatch.delitem(rules.RULES, ("", op))
    with pytest.raises(AssertionError):
        test_no_size_of_the_view_is_one_that_a_run_contradicts("pools", 200)

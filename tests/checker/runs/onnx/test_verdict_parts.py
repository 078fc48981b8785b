"""The parts of what is said of two ONNX files, on their own: no runtime is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest
from onnx import parser

from graphfix.checker.files.pair import Pair
from graphfix.checker.runs.inputs.seeded_inputs import Case
from graphfix.checker.runs.onnx import verdict
from graphfix.checker.runs.original_runs import Answer, Answers
from graphfix.checker.task import Criterion, Task
from graphfix.results import InexactSite, Run, Verdict
from graphfix.runtimes.session import RefusedError

OUTER, INNER = InexactSite("Gelu#0", "y", "y"), InexactSite("Gelu#1", "z", "z", inside=True)
CASE = Case({"N": 1}, {"x": 3})
ACCEPTED = Answers((Answer(CASE, {"y": 1}),))
REFUSED = Answers((), (Run({}, "off", "undecided", reason="no: size"),), missing_kernel=True)


def silent(*_: object) -> None:
    """Take what is said of the progress."""


def task(**parts: Any) -> Task:  # noqa: ANN401 - as the task has them
    return Task(Pair(Path("a"), Path("b")), None, None, 0, Criterion(), "without", silent, **parts)


def said(
    monkeypatch: pytest.MonkeyPatch, answers: object, status: str = "equal", budget: object = None, **parts: object
) -> tuple[Verdict, bool, list[object]]:
    """What `run` returns for these answers, and what was weighed and observed."""
    seen: list[object] = []

    def given(*_: object) -> object:
        if isinstance(answers, RefusedError):
            raise answers
        return answers

    def weigh(comparison: Any, _: Answers) -> Verdict:  # noqa: ANN401
        seen.append((comparison.optimized, comparison.budget))
        return Verdict(status)  # type: ignore[arg-type]

    def observed(exposing: object, sites: Sequence[InexactSite], feeds: Sequence[Mapping[str, object]]) -> object:
        seen.append((exposing, list(sites), list(feeds)))
        return "seen"

    def bounded(found: Verdict, sites: Sequence[InexactSite], runs: list[object]) -> Verdict:
        seen.append((found.status, list(sites), runs))
        return Verdict("bounded")

    monkeypatch.setattr(verdict, "weigh", weigh)
    monkeypatch.setattr(verdict, "observed", observed)
    monkeypatch.setattr(verdict, "bounded", bounded)
    exposing = parts.pop("exposing", "both")
    runs = SimpleNamespace(task=task(**parts), _answers=given)
    comparison = verdict.Comparison(("a", "b"), Criterion(), silent, "onnxruntime", silent, exposing, optimized="on")  # type: ignore[arg-type]
    return (*verdict._Runs.run(runs, comparison, budget), seen)  # type: ignore[arg-type]


def test_what_does_not_run_is_undecided_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    for missing in (True, False):
        error = RefusedError("no", missing_kernel=missing)
        expected = Verdict("undecided", reason="the first model does not load: no")
        assert said(monkeypatch, error) == (expected, missing, [])
    assert said(monkeypatch, "no size") == (Verdict("undecided", reason="no size"), False, [])
    found, missing, seen = said(monkeypatch, REFUSED)
    assert (found.status, found.runs, found.reason, missing, seen) == (
        "undecided", REFUSED.refused, REFUSED.refusal, True, [],
    )  # fmt: skip
    assert said(monkeypatch, ACCEPTED, copied=True) == (Verdict("undecided"), False, [])


@pytest.mark.parametrize(
    ("budget", "brief", "weighed"),
    [(None, False, ("on", None)), (None, True, (None, None)), ("b", False, (None, "b")), ("b", True, (None, "b"))],
)
def test_optimized_runs_are_left_out_of_what_is_brief_or_large(
    monkeypatch: pytest.MonkeyPatch, budget: object, brief: bool, weighed: tuple[object, object]
) -> None:
    assert said(monkeypatch, ACCEPTED, budget=budget, brief=brief) == (Verdict("equal"), False, [weighed])


def test_inexact_sites_are_observed_where_the_rest_is_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    both = (OUTER, INNER)
    found, missing, seen = said(monkeypatch, ACCEPTED, inexact=both)
    assert (found.status, missing) == ("bounded", False)
    assert seen[1:] == [("both", [OUTER], [{"x": 3}]), ("equal", [OUTER, INNER], ["seen"])]
    assert said(monkeypatch, ACCEPTED, inexact=(INNER,))[2][1:] == [("equal", [INNER], [])]
    for status in ("different", "undecided"):
        assert said(monkeypatch, ACCEPTED, status, inexact=both)[0] == Verdict(status)  # type: ignore[arg-type]
    assert said(monkeypatch, ACCEPTED, exposing=None, inexact=both)[0] == Verdict("equal")
    assert said(monkeypatch, ACCEPTED)[0] == Verdict("equal")


@pytest.mark.parametrize("fault", [None, "large"])
def test_models_that_are_not_run_are_loaded_the_first_one_first(
    monkeypatch: pytest.MonkeyPatch, fault: str | None
) -> None:
    asked: list[object] = []

    def opener(name: str, error: str = "") -> Any:  # noqa: ANN401
        def opened() -> None:
            asked.append(name)
            if error:
                raise RefusedError(error)

        return opened

    class Loads:
        def judge(self, found: Verdict, *given: object) -> Verdict:
            asked.append(given)
            return found

    monkeypatch.setattr(verdict, "ways", lambda *given: (len(given), given[-1]))
    for error, reason in (("", "no memory"), ("bad", "the first model does not load: bad")):
        asked.clear()
        found = verdict._loaded(Loads(), (opener("a", error), opener("b")), "no memory", fault)  # type: ignore[arg-type]
        assert (found.status, found.reason, list(found.versions)) == ("undecided", reason, ["onnxruntime"])
        assert asked == ["a", (3, fault)]


@pytest.mark.parametrize("narrow", [False, True])
def test_inputs_of_the_second_model_may_be_of_32_bits_and_constants_may_lack(tmp_path: Path, narrow: bool) -> None:
    texts = {
        "a": "g (int64[2] i, int32[2] j, int64[N] k, int64[2] c, int64[2] d) => (int64[2] y) {y = Add(i, k)}",
        "b": "g (int32[2] i, int64[2] j, int64[N] k, int64[2] d) => (int64[2] y) {y = Identity(k)}",
    }
    for name, text in texts.items():
        onnx.save(parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}'), tmp_path / f"{name}.onnx")
    values = {"c": (3, 4), "d": (5, 6)}
    asked = replace(task(), pair=Pair(tmp_path / "a.onnx", tmp_path / "b.onnx", values=values, narrow_inputs=narrow))
    runs = verdict._Runs.of(asked)
    assert (runs.narrow, runs.missing, runs.witness) == ({"i"} if narrow else set(), {"c"}, None)
    types = [[(spec.name, str(spec.dtype)) for spec in each.inputs] for each in (*runs.declared, *runs.interfaces)]
    first = [("i", "int64"), ("j", "int32"), ("k", "int64"), ("c", "int64"), ("d", "int64")]
    second = [("i", "int64" if narrow else "int32"), ("j", "int64"), ("k", "int64"), ("d", "int64")]
    assert types == [first, second, first[:3], second[:3]]
    assert [node.op_type for each in runs.models for node in each.graph.node] == ["Add", "Identity"]

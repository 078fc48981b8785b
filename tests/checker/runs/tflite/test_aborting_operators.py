"""The operator whose kernel ends the process is found by running beginnings of a model, with a runtime of paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from graphfix.checker.files.pair import Pair
from graphfix.checker.files.tflite.graphs import read_graphs
from graphfix.checker.runs.inputs.input_limits import Limits
from graphfix.checker.runs.inputs.interface import litert_interface
from graphfix.checker.runs.inputs.seeded_inputs import Choice, seeded
from graphfix.checker.runs.tflite import cut_models
from graphfix.checker.runs.tflite.cut_models import aborting_operator
from graphfix.checker.runs.tflite.kernel_run import KernelRun, KernelRunner
from graphfix.checker.task import Criterion, Task
from graphfix.results import Run, Verdict
from graphfix.runtimes.session import ModelDetails, RefusedError, TensorDetails
from models.builders.tflite.text import model

if TYPE_CHECKING:
    from graphfix.runtimes.sessions import Sessions

CHAIN = "a[2] = ABS(x[2])\nb[2] = NEG(a)\nc[2] = COS(b)\nd[2] = SIN(c)\ny[2] = EXP(d)"
NAMES = ("ABS#0", "NEG#1", "COS#2", "SIN#3", "EXP#4")
FEEDS = {"x": 1}
INPUT = TensorDetails("x", 0, "float32", (2,), (2,))


class PaperSessions:
    """Loads whatever it is given; a run ends the process if the model has so many operators."""

    def __init__(self, least: int, *, aborts: bool = True, loads: bool = True) -> None:
        self.least, self.aborts, self.loads = least, aborts, loads
        self.interface = ModelDetails((INPUT,), ())
        self.asked: list[tuple[str, int, tuple[str, ...]]] = []
        self.fed: list[Mapping[str, object]] = []

    def load_tflite(self, path: Path, kernels: str) -> PaperSession:
        if not self.loads:
            raise RefusedError("it does not load")
        graph = read_graphs(path)[0]
        self.asked.append((kernels, len(graph.ops), tuple(graph.names[index] for index in graph.outputs)))
        return PaperSession(self, len(graph.ops))


class PaperSession:
    def __init__(self, sessions: PaperSessions, count: int) -> None:
        self.sessions, self.count = sessions, count
        self.interface = sessions.interface

    def run(self, feeds: Mapping[str, object]) -> None:
        self.sessions.fed.append(feeds)
        assert len(self.sessions.fed) < 9, "it goes on for ever"
        if self.count >= self.sessions.least:
            raise RefusedError("the process ended", aborted=self.sessions.aborts)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "chain.tflite"
    path.write_bytes(model(CHAIN))
    return path


def found(sessions: PaperSessions, path: Path) -> str | None:
    return aborting_operator(cast("Sessions", sessions), path, "builtin", FEEDS)


@pytest.mark.parametrize("place", range(len(NAMES)), ids=NAMES)
def test_the_first_operator_that_ends_the_process_is_named(saved: Path, place: int) -> None:
    sessions = PaperSessions(place + 1)
    assert found(sessions, saved) == NAMES[place]
    assert sessions.fed == [FEEDS] * len(sessions.asked)
    results = dict(zip(range(1, 6), "abcdy", strict=True))
    assert {kernels for kernels, _, _ in sessions.asked} == {"builtin"}
    assert all(outputs == (results[count],) for _, count, outputs in sessions.asked)
    counts = [count for _, count, _ in sessions.asked]
    assert len(counts) == len(set(counts)) <= 4


def test_beginnings_that_run_or_are_refused_name_no_operator(saved: Path) -> None:
    assert found(PaperSessions(9), saved) is None
    assert found(PaperSessions(1, aborts=False), saved) is None


def test_a_model_without_operators_is_not_asked(tmp_path: Path) -> None:
    path = tmp_path / "empty.tflite"
    path.write_bytes(model("subgraph main(x[2]) -> x:"))
    sessions = PaperSessions(0)
    assert found(sessions, path) is None
    assert sessions.asked == []


def test_a_model_that_is_too_large_is_not_asked(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut_models, "too_large", lambda _: True)
    sessions = PaperSessions(1)
    assert found(sessions, saved) is None
    assert sessions.asked == []


ABORTED = Verdict("undecided", runs=(Run({}, "off", "undecided"),), reason="LiteRT aborts the process (SIGABRT)")


def said(path: Path, sessions: PaperSessions, run: KernelRun, told: list[str] | None = None, **stated: object) -> str:
    def progress(text: str, _done: int = 0, _total: int = 0, /) -> None:
        (told if told is not None else []).append(text)

    pair = Pair(path, path, tflite=True, **stated)  # type: ignore[arg-type]  # the fields of Pair
    task = Task(pair, None, None, 7, Criterion(), "without", progress)
    return KernelRunner(task, cast("Sessions", sessions), (path, path)).aborting(run)


def test_the_runs_name_the_operator_that_aborts(saved: Path) -> None:
    sessions, told = PaperSessions(3), list[str]()
    assert said(saved, sessions, KernelRun("reference", "", ABORTED), told) == " at COS#2"
    assert told == ["looking for the operator that aborts"]
    assert {kernels for kernels, _, _ in sessions.asked} == {"reference"}
    assert all(list(fed) == ["x"] for fed in sessions.fed)


@pytest.mark.parametrize(
    ("run", "sessions"),
    [
        (KernelRun("builtin", "other", ABORTED), PaperSessions(1)),
        (KernelRun("builtin", "", Verdict("undecided", reason=ABORTED.reason)), PaperSessions(1)),
        (KernelRun("builtin", "", Verdict("undecided", runs=ABORTED.runs, reason="it is refused")), PaperSessions(1)),
        (KernelRun("builtin", "", Verdict("undecided", runs=ABORTED.runs)), PaperSessions(1)),
        (KernelRun("builtin", "", ABORTED), PaperSessions(1, loads=False)),
        (KernelRun("builtin", "", ABORTED), PaperSessions(9)),
    ],
    ids=["another signature", "no run", "another reason", "no reason", "it does not load", "nothing aborts"],
)
def test_no_operator_is_named_where_none_is_known(saved: Path, run: KernelRun, sessions: PaperSessions) -> None:
    assert said(saved, sessions, run) == ""


FREE = TensorDetails("x", 0, "float32", (1, 2), (-1, 2))


def test_the_inputs_are_those_of_the_first_run(saved: Path) -> None:
    sessions = PaperSessions(1)
    sessions.interface = ModelDetails((FREE,), ())
    run = KernelRun("builtin", "", replace(ABORTED, runs=(Run({"x[0]": 3}, "off", "undecided"), *ABORTED.runs)))
    assert said(saved, sessions, run) == " at ABS#0"
    interface = litert_interface(sessions.interface)
    expected = seeded(interface, {"x[0]": 3}, Limits(), Choice(), (7, 0)).feeds["x"]
    other = seeded(interface, {"x[0]": 3}, Limits(), Choice(), (7, 1)).feeds["x"]
    for fed in sessions.fed:
        np.testing.assert_array_equal(cast("np.ndarray", fed["x"]), cast("np.ndarray", expected))
    assert not np.array_equal(cast("np.ndarray", other), cast("np.ndarray", expected))


def test_an_input_that_is_set_is_fed_as_it_is_set(saved: Path) -> None:
    sessions = PaperSessions(1)
    assert said(saved, sessions, KernelRun("builtin", "", ABORTED), values={"x": (8.0, 9.0)}) == " at ABS#0"
    assert [list(cast("np.ndarray", fed["x"])) for fed in sessions.fed] == [[8.0, 9.0]] * len(sessions.fed)

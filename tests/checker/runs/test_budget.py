"""The runs of a large model have a budget: the smallest sizes first, as many as fit, and it is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from graphfix.checker.runs.budget import LARGE, Budget, allowance, memory_fault
from graphfix.checker.runs.comparing.comparison import Comparison, weigh
from graphfix.checker.runs.inputs.input_limits import Limits
from graphfix.checker.runs.inputs.interface import Interface, TensorSpec
from graphfix.checker.runs.onnx import verdict as onnx_runs
from graphfix.checker.runs.original_runs import Answers, Sweep
from graphfix.checker.runs.sizes.free_sizes import Free
from graphfix.checker.task import Criterion
from graphfix.results.progress import Notice
from graphfix.runtimes.session import RefusedError
from tests.support.by_runs import verify
from tests.support.written import Written

X = TensorSpec("x", "tensor", np.dtype(np.float32), ("N", "M"))
TEXT = "g (float[N,M] x) => (float[N,M] y) { y = Softmax(x) }"


@dataclass
class Slow:
    """A model whose runs take these seconds in turn, the last one for all that follow."""

    seconds: Sequence[float]
    now: float = 0.0
    outputs: tuple[str, ...] = ("y",)
    fed: list[tuple[int, ...]] = field(default_factory=list)
    refuses: bool = False

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        self.now += self.seconds[min(len(self.fed), len(self.seconds) - 1)]
        x = np.asarray(feeds["x"])
        self.fed.append(x.shape)
        if self.refuses:
            raise RefusedError("no")
        return [x]


def swept(slow: Slow, told: list[str], runs: int = 4, *, larger: bool = False) -> Answers:
    budget = Budget(lambda text, *_: told.append(text), 120.0, lambda: slow.now)
    sweep = Sweep(slow, lambda _: Limits(), Interface((X,), (), (), (X,)), 0, larger=larger, budget=budget)
    return sweep.run(Free(("N", "M"), frozenset(("N",)), {}, (X,)), runs)


@pytest.mark.parametrize(
    ("seconds", "fed", "said"),
    [
        ([0.1], [(1, 1), (3, 5), (2, 2), (0, 0), (2, 37)], None),
        ([28, 8], [(1, 1), (3, 5), (2, 2)], "about 28 s: run on 3 of 4 sets of sizes; --thorough runs all"),
        ([25], [(1, 1)], "about 25 s: run once at N=1, M=1; --thorough runs all"),
        ([60], [(1, 1)], "about 60 s: run once at N=1, M=1; --thorough runs all"),
    ],
    ids=["all in time", "the first run is the slowest", "few fit", "slow: not even repeated"],
)
def test_the_smallest_sizes_are_run_first_and_as_many_as_fit(
    seconds: Sequence[float], fed: list[tuple[int, ...]], said: str | None
) -> None:
    told: list[str] = []
    answers = swept(slow := Slow(seconds), told, larger=True)
    assert list(dict.fromkeys(slow.fed)) == fed
    assert [tuple(answer.case.sizes.values()) for answer in answers.accepted] == fed
    assert told == ([] if said is None else [f"one run of the original takes {said}"])
    assert all(isinstance(text, Notice) for text in told)
    left = [run.reason for run in answers.refused]
    assert len(left) == max(4 - len(fed), 0)
    assert all(str(reason).endswith("the budget of the runs is 120 s; --thorough lifts it") for reason in left)


def test_fewer_are_run_where_larger_sizes_take_longer_than_the_first_ones() -> None:
    told: list[str] = []
    answers = swept(slow := Slow([2, 2, 30]), told)
    assert (list(dict.fromkeys(slow.fed)), told) == ([(1, 1), (3, 5)], [])
    assert len(answers.refused) == 2


def test_the_second_model_is_run_once_in_any_case_and_no_more_when_the_time_is_over() -> None:
    slow = Slow([1])
    accepted = swept(slow, []).accepted
    second = Slow([300])
    budget = Budget(lambda *_: None, 120.0, lambda: second.now)
    opened = (lambda: slow), (lambda: second)
    compared = Comparison(opened, Criterion(), lambda *_: None, "onnxruntime", lambda *_: None, budget=budget)
    verdict = weigh(compared, Answers(accepted))
    assert (verdict.status, second.fed) == ("equal", [(1, 1)])
    reason = "not run: the budget of the runs is 120 s; --thorough lifts it"
    assert [run.reason for run in verdict.runs] == [None, reason, reason, reason]


def spent(seconds: float, *, taken: Sequence[float] = (), planned: int | None = None, total: int = 0) -> Budget:
    """Return a budget of 120 s of which so many seconds are spent."""
    times = iter([5.0])
    return Budget(
        lambda *_: None, 120.0, lambda: next(times, 5.0 + seconds), taken=list(taken), planned=planned, total=total
    )


@pytest.mark.parametrize(("done", "seconds", "over"), [(0, 121, False), (1, 120, True), (1, 119, False)])
def test_the_time_is_over_when_none_is_left(done: int, seconds: float, over: bool) -> None:
    assert spent(seconds).is_over(done) is over


@pytest.mark.parametrize(
    ("seconds", "taken", "may"),
    [(0, [30], True), (0, [30.5], False), (0, [31, 1], True), (110, [10], True), (110, [10.5], False)],
    ids=["a quarter of the budget", "more than a quarter", "the last run counts", "all that is left", "more than that"],
)
def test_a_run_is_repeated_in_a_quarter_of_the_time_and_what_is_left(
    seconds: float, taken: list[float], may: bool
) -> None:
    assert spent(seconds, taken=taken).may_repeat() is may


@pytest.mark.parametrize(
    ("seconds", "planned", "allowed"),
    [(59, 4, True), (60, 4, False), (59, 5, True), (59, 3, False), (59, None, False)],
    ids=["all in less than half", "half of the time", "more than wanted", "not all", "none is run yet"],
)
def test_larger_sizes_are_run_where_all_others_took_less_than_half_of_the_time(
    seconds: float, planned: int | None, allowed: bool
) -> None:
    assert spent(seconds, planned=planned, total=4).allows_larger is allowed


@pytest.mark.parametrize(
    ("seconds", "done", "planned", "allowed"),
    [
        (130, 0, None, True),
        (91, 2, 4, True),
        (91.5, 2, 4, False),
        (86, 3, 4, True),
        (87, 3, 4, False),
        (0, 4, 4, False),
    ],
)
def test_another_set_of_sizes_needs_the_time_of_the_first_run_and_of_three_more_and_one_for_each_that_is_done(
    seconds: float, done: int, planned: int | None, allowed: bool
) -> None:
    assert spent(seconds, taken=[4, 5], planned=planned).allows_another(done) is allowed


def test_a_slow_run_is_not_repeated() -> None:
    swept(slow := Slow([60]), [])
    assert slow.fed == [(1, 1)]


def test_a_model_that_refuses_slowly_is_not_asked_for_ever() -> None:
    answers = swept(slow := Slow([50], refuses=True), [])
    assert len(slow.fed) == 3
    assert (answers.accepted, answers.refusal) == ((), "not run, the first model refuses it: no")


def test_what_needs_more_memory_than_there_is_has_a_reason() -> None:
    assert memory_fault(3 << 30, 4 << 30) is None
    assert memory_fault(5 << 30, 4 << 30) == (
        "both models load and are not run: its weights need about 5120 MiB of memory in onnxruntime, "
        "and 4096 MiB are unused; --thorough runs them all the same"
    )


def test_a_small_model_may_take_so_much_memory_and_a_large_one_any() -> None:
    assert [allowance(size, thorough=False) for size in (0, 3, LARGE - 1)] == [
        256 << 20, (256 << 20) + 3 * 1024, (256 << 20) + (LARGE - 1) * 1024,
    ]  # fmt: skip
    assert (allowance(LARGE, thorough=False), allowance(0, thorough=True)) == (None, None)
    assert memory_fault(4 << 30, 4 << 30) is None


@pytest.mark.parametrize(
    ("sizes", "taken", "total", "said", "planned"),
    [
        ({"N": 1, "M": 2}, [60.0], 4, "60 s: run once at N=1, M=2", 1),
        ({}, [60.0], 4, "60 s: run once at the sizes of the model", 1),
        ({"N": 1}, [28.0, 8.0], 5, "28 s: run on 4 of 5 sets of sizes", 4),
        ({"N": 1}, [28.0, 8.0], 4, None, 4),
        ({"N": 1}, [0.25], 9, None, 160),
    ],
)
def test_as_many_sets_are_planned_as_the_first_run_leaves_time_for(
    sizes: Mapping[str, int], taken: list[float], total: int, said: str | None, planned: int
) -> None:
    told: list[str] = []
    budget = Budget(lambda text, *_: told.append(text), 120.0, lambda: 0.0, taken=taken, total=total)
    budget._plan(sizes)
    assert budget.planned == planned
    about = "one run of the original takes about"
    assert told == ([] if said is None else [f"{about} {said}; --thorough runs all"])


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every model is large."""
    monkeypatch.setattr(onnx_runs, "LARGE", 0)


def sizes_run(before: Path, after: Path, **asked: object) -> list[tuple[int, ...]]:
    runs = verify(before, after, **asked).runs
    return [tuple(run.bindings.values()) for run in runs if run.optimizations == "off" and run.status == "equal"]


@pytest.mark.usefixtures("large")
def test_a_large_model_is_run_from_the_smallest_sizes_on(written: Written) -> None:
    assert sizes_run(written(TEXT), written(TEXT)) == [(1, 1), (3, 5), (2, 2), (0, 0), (2, 37)]


@pytest.mark.usefixtures("large")
def test_without_a_budget_a_large_model_is_run_as_others_are(written: Written) -> None:
    assert sizes_run(written(TEXT), written(TEXT), thorough=True) == [(3, 5), (1, 1), (2, 2), (0, 0), (2, 37)]


@pytest.mark.usefixtures("large")
def test_without_time_nothing_is_run_and_the_reason_is_said(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_runs, "Budget", partial(Budget, seconds=1e-9))
    verdict = verify(written(TEXT), written(TEXT))
    why = "not run, the first model refuses it: the budget of the runs is 1e-09 s; --thorough lifts it"
    assert (verdict.status, verdict.reason) == ("undecided", why)


@pytest.mark.parametrize(
    ("seconds", "aborted", "reason"),
    [
        (200.0, True, "the budget of the runs is 120 s; --thorough lifts it"),
        (120.0, True, "the budget of the runs is 120 s; --thorough lifts it"),
        (119.5, True, "killed"),
        (200.0, False, "killed"),
    ],
)
def test_a_run_that_is_stopped_for_its_time_has_the_budget_as_its_reason(
    seconds: float, aborted: bool, reason: str
) -> None:
    stops: list[float] = []

    class Stopped(Slow):
        def run(self, _: Mapping[str, object]) -> list[object]:
            self.now += seconds
            raise RefusedError("killed", aborted=aborted)

    slow = Stopped([seconds])
    budget = Budget(lambda *_: None, 120.0, lambda: slow.now, stops.append)
    with pytest.raises(RefusedError) as caught:
        budget.timed(slow).run({})
    assert (str(caught.value), caught.value.aborted, stops) == (reason, aborted, [120.0, 600.0])


@pytest.mark.parametrize(("left", "stops"), [(0.0, []), (-1.0, []), (0.25, [1.0, 600.0]), (9.0, [9.0, 600.0])])
def test_a_run_begins_only_while_time_is_left_and_gets_a_second_at_least(left: float, stops: list[float]) -> None:
    stopped: list[float] = []
    slow = Slow([0.0])
    budget = Budget(lambda *_: None, 120.0, lambda: slow.now, stopped.append)
    session = budget.timed(slow)
    slow.now = 120.0 - left
    if stops:
        session.run({"x": np.zeros(2)})
    else:
        with pytest.raises(RefusedError, match=r"^the budget of the runs is 120 s; --thorough lifts it$"):
            session.run({"x": np.zeros(2)})
    assert (len(slow.fed), stopped) == (bool(stops), stops)


@pytest.mark.usefixtures("large")
def test_without_memory_both_models_are_loaded_and_not_run(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_runs, "unused", lambda: 0)
    verdict = verify(written(TEXT), written(TEXT))
    assert (verdict.status, list(verdict.runs)) == ("undecided", [])
    assert str(verdict.reason).startswith("both models load and are not run")
    unknown = written(TEXT.replace("Softmax", "own.Softmax"), domains=', "own": 1')
    assert verify(written(TEXT), unknown).status == "different"
    assert str(verify(unknown, written(TEXT)).reason).startswith("the first model does not load")
    assert verify(written(TEXT), written(TEXT), thorough=True).status == "equal"

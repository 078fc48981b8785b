"""What the runs of the second model decide, beside what the first one has answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from graphfix.checker.runs.budget import Budget
from graphfix.checker.runs.comparing.comparison import Comparison, weigh
from graphfix.checker.runs.comparing.difference import Difference
from graphfix.checker.runs.comparing.exceptions import READS_PAST_THE_END
from graphfix.checker.runs.comparing.first_difference import Place
from graphfix.checker.runs.inputs.seeded_inputs import Case
from graphfix.checker.runs.original_runs import DIFFERING, Answer, Answers, Undetermined
from graphfix.checker.task import Criterion
from graphfix.results import Run, Verdict
from graphfix.results.progress import RUNS_OF_BOTH, RUNS_OF_SECOND
from graphfix.runtimes.session import RefusedError

Answering = Callable[[int], Sequence[object] | RefusedError]


@dataclass
class Model:
    """A model with the outputs y and z, which answers by the size that it is fed."""

    answer: Answering
    opened: int = 0
    outputs: tuple[str, ...] = ("y", "z")

    def __call__(self) -> Model:
        self.opened += 1
        return self

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        found = self.answer(int(str(feeds["n"])))
        if isinstance(found, RefusedError):
            raise found
        return [np.asarray(value, np.float32) for value in found]


def refused(error: RefusedError) -> Callable[[], Model]:
    def opened() -> Model:
        raise error

    return opened


def same(_: int) -> Sequence[object]:
    return [1, 2], [3]


def nowhere(*_: object) -> None:
    return None


def at(op: str) -> Callable[[object, Mapping[str, Difference]], Place]:
    return lambda _, found: Place(next(iter(found)), op, f"{op}#0", next(iter(found.values())))


def weighed(
    second: Answering | Callable[[], Model],
    first: Answering = same,
    sizes: Sequence[int] = (3, 1),
    undetermined: Mapping[str, Undetermined] | None = None,
    expected: Mapping[str, object] | None = None,
    **changes: object,
) -> Verdict:
    before = Model(first)
    cases = [Case({"N": size}, {"n": size}, expected or {}) for size in sizes]
    given = [dict(zip("yz", before.run(case.feeds), strict=True)) for case in cases]
    answers = Answers(
        tuple(Answer(*each, undetermined or {}) for each in zip(cases, given, strict=True)),
        (Run({"N": 0}, "off", "undecided", reason="refused"),),
    )
    after = second if changes.pop("is_opener", False) else Model(second)  # type: ignore[arg-type]
    comparison = Comparison((before, after), Criterion(), nowhere, "onnxruntime", lambda *_: None)  # type: ignore[arg-type]
    return weigh(replace(comparison, **changes), answers)  # type: ignore[arg-type]


def statuses(verdict: Verdict) -> list[str]:
    return [run.status for run in verdict.runs]


def test_equal_outputs_are_equal_and_refused_runs_are_listed_behind() -> None:
    verdict = weighed(same)
    assert (verdict.status, verdict.reason, verdict.exceptions, verdict.first_difference) == ("equal", None, (), None)
    assert statuses(verdict) == ["equal", "equal", "undecided"]
    assert [(run.outputs, run.largest_difference) for run in verdict.runs[:2]] == [(2, 0.0)] * 2


@pytest.mark.parametrize(
    ("error", "status", "reason", "runs"),
    [
        (RefusedError("no"), "different", "the second model does not load, the first runs: no", 2),
        (RefusedError("late", stopped=True), "undecided", "the second model was not run: late", 1),
    ],
)
def test_a_second_model_that_does_not_load_is_different_unless_it_was_stopped(
    error: RefusedError, status: str, reason: str, runs: int
) -> None:
    verdict = weighed(refused(error), is_opener=True)  # type: ignore[arg-type]
    assert (verdict.status, verdict.reason, len(verdict.runs)) == (status, reason, runs)
    assert verdict.runs[-1].reason == "refused"


def test_outputs_that_differ_are_named_with_the_first_place() -> None:
    verdict = weighed(lambda n: ([1, 2], [4 + n]), locate=at("Sub"))
    assert (verdict.status, verdict.reason) == ("different", "the outputs differ: z")
    assert (verdict.first_difference or {})["producer"] == "Sub#0"
    assert [(run.status, run.largest_difference) for run in verdict.runs[:2]] == [
        ("different", 4.0),
        ("different", 2.0),
    ]
    unplaced = weighed(lambda n: ([1, 2], [3] if n == 3 else [9]))
    assert statuses(unplaced) == ["equal", "different", "undecided"]
    assert unplaced.first_difference == {
        "tensor": "z", "producer": "", "index": [0], "before": 3.0, "after": 9.0, "count": 1,
    }  # fmt: skip


def test_only_the_first_run_that_differs_is_located() -> None:
    asked: list[int] = []

    def locate(feeds: Mapping[str, object], _: object) -> None:
        asked.append(int(str(feeds["n"])))

    weighed(lambda n: ([1, n], [3]), sizes=(2, 5, 7), locate=locate)
    assert asked == [5]


def test_a_sign_of_zero_behind_an_addition_is_an_exception_of_each_output() -> None:
    def zeros(sign: float) -> Answering:
        return lambda n: ([0 * sign, 1], [0 * sign] * n)

    verdict = weighed(zeros(-1.0), zeros(1.0), locate=at("Add"))
    assert (verdict.status, statuses(verdict)) == ("equal", ["equal", "equal", "undecided"])
    entry = {"class": "signed-zero", "site": "Add#0"}
    assert verdict.exceptions == ({**entry, "output": "y", "count": 2}, {**entry, "output": "z", "count": 4})
    assert weighed(zeros(-1.0), zeros(1.0), locate=at("Sub")).status == "different"
    assert weighed(zeros(-1.0), zeros(1.0), locate=at("Add"), runtime="LiteRT").status == "different"


def test_a_tolerance_excuses_what_is_within_it() -> None:
    near: Answering = lambda _: ([1, 2.25], [3])  # noqa: E731
    verdict = weighed(near, criterion=Criterion(atol=0.5))
    assert verdict.status == "equal"
    assert verdict.exceptions == ({"class": "tolerance", "output": "y", "site": None, "count": 2},)
    assert verdict.runs[0].largest_difference == 0.25
    assert weighed(near).status == "different"


def test_an_output_that_is_nan_in_every_run_leaves_the_verdict_open() -> None:
    def only(*sizes: int) -> Answering:
        return lambda n: ([np.nan, np.nan] if n in sizes else [1, 2], [3] if n != 7 else [np.nan])

    verdict = weighed(only(3, 1), only(3, 1))
    assert (verdict.status, statuses(verdict)) == ("undecided", ["equal", "equal", "undecided"])
    assert verdict.reason == "in every run NaN throughout, so that nothing was compared: y"
    assert verdict.exceptions == ({"class": "only-nan", "output": "y", "site": None, "count": 1},)
    assert weighed(only(3), only(3)).status == "equal"
    alone = weighed(only(7), only(7), sizes=(7, 3))
    assert (alone.status, statuses(alone)) == ("equal", ["undecided", "equal", "undecided"])
    assert alone.runs[0].reason == "every output is NaN throughout"


PAST = Undetermined(READS_PAST_THE_END, "a kernel reads past the end", ", and does not determine", "ATAN2#0")


@pytest.mark.parametrize(
    ("second", "status"),
    [
        (same, "undecided"),
        (lambda _: ([1, 9], [3]), "undecided"),
        (lambda _: ([1, 2], [9]), "different"),
    ],
    ids=["the same", "only there", "elsewhere too"],
)
def test_an_output_that_the_first_model_does_not_determine_is_not_compared(second: Answering, status: str) -> None:
    verdict = weighed(second, undetermined={"y": PAST})
    reason = "a kernel reads past the end, and does not determine: y"
    entry = {"class": "reads-past-the-end", "output": "y", "site": "ATAN2#0"}
    assert (verdict.status, verdict.runs[0].outputs, verdict.runs[0].status) == (status, 1, status)
    assert verdict.reason == (reason if status == "undecided" else "the outputs differ: z")
    assert dict(verdict.exceptions[0]) == {**entry, "count": 2}
    both = weighed(same, undetermined={"y": DIFFERING, "z": DIFFERING})
    assert both.reason == "two runs of the first model itself differ in: y, z"


def test_a_run_that_was_stopped_decides_nothing_and_one_that_fails_does() -> None:
    def second(stopped: bool) -> Answering:
        error = RefusedError("too long", stopped=stopped)
        return lambda n: error if n == 3 else same(n)

    verdict = weighed(second(stopped=True))
    reason = "the second model was stopped where the first runs: too long"
    assert (verdict.status, verdict.reason, statuses(verdict)) == (
        "undecided",
        reason,
        ["undecided", "equal", "undecided"],
    )
    verdict = weighed(second(stopped=False))
    reason = "the second model fails where the first runs: too long"
    assert (verdict.status, verdict.reason, statuses(verdict)) == (
        "different",
        reason,
        ["different", "equal", "undecided"],
    )


@pytest.mark.parametrize(("aborted", "opened"), [(False, 4), (True, 2)])
def test_a_failure_is_tried_again_three_times_unless_the_process_dies(aborted: bool, opened: int) -> None:
    second = Model(lambda _: RefusedError("gone", aborted=aborted))
    assert weighed(second, sizes=(3,), is_opener=True).status == "different"
    assert second.opened == opened


def test_brief_runs_look_into_nothing() -> None:
    asked: list[object] = []
    second = Model(lambda _: ([1, 9], [3]))
    verdict = weighed(second, brief=True, is_opener=True, locate=lambda *given: asked.append(given))
    assert (verdict.status, verdict.reason, verdict.first_difference) == ("different", "they seem to differ", None)
    assert (second.opened, asked) == (1, [])
    failing = weighed(lambda _: RefusedError("no"), brief=True)
    assert (failing.status, failing.reason) == ("different", "they seem to differ")
    assert weighed(same, brief=True).status == "equal"


def test_sets_beyond_the_budget_are_left_out_but_for_the_first() -> None:
    budget = Budget(lambda *_: None, 0.0)
    verdict = weighed(same, sizes=(3, 1, 2), budget=budget)
    assert (verdict.status, statuses(verdict)) == ("equal", ["equal", "undecided", "undecided", "undecided"])
    assert [dict(run.bindings) for run in verdict.runs] == [{"N": 3}, {"N": 1}, {"N": 2}, {"N": 0}]
    assert str(verdict.runs[1].reason).startswith("not run: the budget of the runs is 0 s")


# --- runs with all optimizations are reported, and do not decide ------------------------------------------------------

NO, STOPPED = RefusedError("no"), RefusedError("late", stopped=True)


@pytest.mark.parametrize(
    ("openers", "expected"),
    [
        pytest.param((same, same), [("equal", None)] * 2, id="equal"),
        pytest.param((same, lambda n: ([1, n], [3])), [("different", None)] * 2, id="different"),
        pytest.param((lambda _: NO, same), [("undecided", "the first model fails: no")] * 2, id="the first fails"),
        pytest.param((same, lambda _: NO), [("undecided", "the second model fails: no")] * 2, id="the second fails"),
        pytest.param((lambda _: NO, lambda _: NO), [("undecided", "both models fail: no")] * 2, id="both fail"),
        pytest.param((NO, same), [("undecided", "the first model fails: no")], id="the first does not load"),
        pytest.param((NO, NO), [("undecided", "both models fail: no")], id="none loads"),
        pytest.param((same, STOPPED), [("undecided", "the second model fails: late")], id="the load is stopped"),
        pytest.param(
            (same, NO), [("different", "the second model does not load, the first does: no")], id="the second load"
        ),
    ],
)
def test_optimized_runs_are_reported(
    openers: Sequence[Answering | RefusedError], expected: list[tuple[str, str | None]]
) -> None:
    models = tuple(refused(each) if isinstance(each, RefusedError) else Model(each) for each in openers)
    verdict = weighed(same, optimized=models)
    found = [(run.status, run.reason) for run in verdict.runs if run.optimizations == "on"]
    assert (verdict.status, found) == ("equal", expected)
    assert [run.optimizations for run in verdict.runs[-1:]] == ["off"]


def test_an_optimized_run_with_another_sign_of_zero_is_different_and_another_nan_is_not() -> None:
    for value, status in ((-0.0, "different"), (-np.nan, "equal")):
        plain: Answering = lambda _, value=value: ([abs(value), 1], [3])  # type: ignore[misc]  # noqa: E731
        changed: Answering = lambda _, value=value: ([value, 1], [3])  # type: ignore[misc]  # noqa: E731
        verdict = weighed(same, optimized=(Model(plain), Model(changed)))
        assert [run.status for run in verdict.runs if run.optimizations == "on"] == [status] * 2
        assert {(run.outputs, run.largest_difference) for run in verdict.runs if run.optimizations == "on"} == {
            (2, 0.0)
        }


# --- outputs that a test_data_set expects -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "first", "second", "said"),
    [
        ({"y": np.float32([1, 2])}, same, same, None),
        ({"y": np.float32([1, 3])}, same, same, "both models: the output 'y' is not what the data set expects"),
        ({"z": np.float32([3.001])}, same, same, None),
        ({"z": np.float32([3, 3])}, same, same, "both models: the output 'z'"),
        ({"z": None}, same, same, "both models: the output 'z'"),
        ({"z": [np.float32([3])]}, same, same, "both models: the output 'z'"),
        ({"z": np.float32([3.1])}, lambda _: ([1, 2], [3.1]), same, "the output 'z'"),
        ({"z": np.float32([3.1])}, same, lambda _: ([1, 2], [3.1]), "the output 'z'"),
    ],
)  # fmt: skip
def test_outputs_that_are_not_as_expected_are_said_of_one_model_or_both(
    expected: Mapping[str, object], first: Answering, second: Answering, said: str | None
) -> None:
    verdict = weighed(second, first, expected=expected, criterion=Criterion(rtol=0.1))
    assert verdict.status == "equal"
    reason = verdict.runs[0].reason
    assert (reason or "").startswith(said or "")
    assert (reason is None) == (said is None)


def test_the_largest_difference_of_all_outputs_is_said() -> None:
    verdict = weighed(lambda _: ([1, 3], [9]))
    assert (verdict.reason, verdict.runs[0].largest_difference) == ("the outputs differ: y, z", 6.0)


def test_a_number_in_place_of_nan_is_different_and_no_elements_are_equal() -> None:
    verdict = weighed(lambda _: ([1], [np.nan]), lambda _: ([np.nan], [np.nan]))
    assert (verdict.status, statuses(verdict)) == ("different", ["different", "different", "undecided"])
    empty = weighed(lambda _: ([], []), lambda _: ([], []))
    assert (empty.status, statuses(empty)) == ("equal", ["equal", "equal", "undecided"])


def test_progress_says_what_is_run() -> None:
    told: list[tuple[object, ...]] = []
    weighed(
        lambda n: ([1, n], [3]), sizes=(2, 5), progress=lambda *said: told.append(said), optimized=(Model(same),) * 2
    )
    assert told == [
        (RUNS_OF_SECOND,), (RUNS_OF_SECOND, 0, 2), (RUNS_OF_SECOND, 1, 2),
        ("looking for the first tensor that differs",), (f"{RUNS_OF_BOTH} with optimizations",),
    ]  # fmt: skip


# --- a second look, from fresh interpreters ---------------------------------------------------------------------------


def opened_in_turn(*answers: Answering) -> Callable[[], Model]:
    """Models that are opened one after the other; the last one again and again."""
    left = list(answers)
    return lambda: Model(left.pop(0) if len(left) > 1 else left[0])


WRONG: Answering = lambda _: ([1, 9], [3])  # noqa: E731
GONE: Answering = lambda _: RefusedError("gone")  # noqa: E731
BEGINS = "from fresh interpreters: one that had run other sizes did otherwise"


def looked_at(*answers: Answering, **changes: object) -> tuple[str, str | None, list[tuple[object, object, object]]]:
    """The status and the reason of the first run, and all exceptions, of a second model opened in turn."""
    verdict = weighed(opened_in_turn(*answers), is_opener=True, sizes=(3,), **changes)  # type: ignore[arg-type]
    listed = [(entry["class"], entry["output"], entry["site"]) for entry in verdict.exceptions]
    return verdict.runs[0].status, verdict.runs[0].reason, listed


def test_a_run_that_a_fresh_interpreter_does_rightly_is_equal_and_says_so() -> None:
    assert looked_at(WRONG, same) == ("equal", BEGINS, [("reused-interpreter", None, "N=3")])
    expected = {"y": np.float32([1, 3])}
    status, reason, listed = looked_at(WRONG, same, expected=expected)
    assert (status, str(reason)[:30], len(listed)) == ("equal", "both models: the output 'y' is", 1)
    assert looked_at(same, WRONG) == ("equal", None, [])


def test_a_failure_that_does_not_come_back_decides_nothing() -> None:
    shared = [("shared-failure", None, "N=3")]
    assert looked_at(GONE, same) == ("equal", BEGINS, [("reused-interpreter", None, "N=3")])
    now_and_then = ("undecided", "the second model fails now and then: gone", shared)
    assert looked_at(GONE, GONE, same) == now_and_then
    assert looked_at(GONE, GONE, GONE, same) == now_and_then
    fails = ("different", "the second model fails where the first runs: gone", [])
    assert looked_at(GONE, GONE, GONE, GONE, same) == fails
    assert looked_at(GONE, GONE, WRONG) == ("different", "the outputs differ: y", [])


def test_every_reason_for_which_nothing_is_decided_is_said_once() -> None:
    nothing: Answering = lambda _: ([1, 2], [np.nan])  # noqa: E731
    verdict = weighed(nothing, nothing, undetermined={"y": PAST})
    reasons = [
        "a kernel reads past the end, and does not determine: y",
        "in every run NaN throughout, so that nothing was compared: z",
    ]
    assert (verdict.status, verdict.reason) == ("undecided", "; ".join(reasons))
    assert [(entry["class"], entry["output"], entry["count"]) for entry in verdict.exceptions] == [
        ("reads-past-the-end", "y", 2),
        ("only-nan", "z", 1),
    ]


def test_the_budget_is_asked_for_each_set_in_turn() -> None:
    class Asked:
        why = "enough"
        numbers: tuple[int, ...] = ()

        def is_over(self, number: int) -> bool:
            self.numbers += (number,)
            return number == 2

    asked = Asked()
    verdict = weighed(same, sizes=(3, 1, 2, 5), budget=asked)
    assert asked.numbers == (0, 1, 2, 2)
    assert [(run.status, run.reason) for run in verdict.runs] == [
        ("equal", None), ("equal", None), ("undecided", "enough"), ("undecided", "enough"), ("undecided", "refused"),
    ]  # fmt: skip

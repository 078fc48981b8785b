"""On which sizes the original is run, and what is asked again where it refuses some or is not stable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from graphfix.checker.runs.comparing.exceptions import TOLERANCE
from graphfix.checker.runs.inputs.input_limits import Limits
from graphfix.checker.runs.inputs.interface import Interface, TensorSpec
from graphfix.checker.runs.inputs.seeded_inputs import Case
from graphfix.checker.runs.original_runs import (
    DIFFERING,
    Answer,
    Answers,
    Sweep,
    Undetermined,
    after_reload,
    ask,
    changed,
    of_cases,
)
from graphfix.checker.runs.sizes.free_sizes import Free
from graphfix.runtimes.session import RefusedError

X = TensorSpec("x", "tensor", np.dtype(np.float32), ("N", "M"))
FREE = Free(("N", "M"), frozenset("N"), {}, (X,))
Shape = tuple[int, ...]


@dataclass
class Model:
    """A model that answers by the shape of x, and by how often it has run."""

    takes: Callable[[Shape], bool] = lambda _: True
    value: Callable[[Shape, int], float] = lambda *_: 1.0
    empty: Callable[[Shape], bool] = lambda _: False
    error: RefusedError = field(default_factory=lambda: RefusedError("no"))
    fed: list[Shape] = field(default_factory=list)
    outputs: tuple[str, ...] = ("y",)

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        shape = np.asarray(feeds["x"]).shape
        self.fed.append(shape)
        if not self.takes(shape):
            raise self.error
        return [np.full(0 if self.empty(shape) else 2, self.value(shape, len(self.fed)), np.float32)] * len(
            self.outputs
        )


def sweep(model: Model, **changes: object) -> Sweep:
    return replace(Sweep(model, lambda _: Limits(), Interface((X,), (), (), (X,)), 0), **changes)  # type: ignore[arg-type]


def run_on(answers: Answers) -> list[Shape]:
    return [tuple(answer.case.sizes.values()) for answer in answers.accepted]


PRINCIPAL = [(3, 5), (1, 1), (2, 2), (0, 0)]


def test_every_set_is_run_twice_and_once_where_runs_are_brief() -> None:
    answers = sweep(model := Model()).run(FREE, 4)
    assert (run_on(answers), answers.refused, answers.missing_kernel) == (PRINCIPAL, (), False)
    assert model.fed == [shape for shape in PRINCIPAL for _ in range(2)]
    answers = sweep(model := Model(), brief=True).run(FREE, 4)
    assert (run_on(answers), model.fed) == ([(3, 5)], [(3, 5)])
    assert run_on(sweep(Model(), least=True).run(FREE, 3)) == [(1, 1), (3, 5), (2, 2)]
    assert run_on(sweep(Model(), larger=True).run(FREE, 1)) == [(3, 5), (2, 37)]


def test_the_same_sizes_are_run_again_only_where_none_is_free() -> None:
    given = Free((), frozenset(), {"N": 2, "M": 2}, (X,))
    assert run_on(sweep(Model()).run(given, 3)) == [(2, 2)] * 3
    bounded = replace(FREE, ranges={"N": (2, 2), "M": (2, 2)})
    assert run_on(sweep(Model(), larger=True).run(bounded, 4)) == [(2, 2)]


def test_another_set_stands_in_for_one_that_is_refused() -> None:
    answers = sweep(Model(lambda shape: shape != (1, 1))).run(FREE, 2)
    assert run_on(answers) == [(3, 5), (1, 5)]
    assert [(dict(run.bindings), run.reason) for run in answers.refused] == [
        ({"N": 1, "M": 1}, "not run, the first model refuses it: no")
    ]
    assert answers.refusal == "not run, the first model refuses it: no"
    assert Answers(()).refusal == "it has no run"


def test_a_set_of_zeros_needs_no_output_with_elements_and_others_do() -> None:
    empty = Model(empty=lambda shape: 0 in shape)
    assert run_on(sweep(empty).run(FREE, 4)) == [(3, 5), (1, 1), (2, 2), (0, 0)]
    answers = sweep(Model(lambda shape: shape != (0, 0), empty=lambda shape: 0 in shape)).run(FREE, 4)
    assert run_on(answers)[3:] == [(0, 5)]
    answers = sweep(Model(empty=lambda shape: shape != (3, 64))).run(FREE, 1)
    assert run_on(answers) == [(3, 64)]  # the first set must show something


def test_a_model_that_takes_few_sizes_is_searched_for_once() -> None:
    answers = sweep(Model(lambda shape: shape[1] % 32 == 0 and shape[1] > 0)).run(FREE, 1)
    assert run_on(answers) == [(3, 64)]
    answers = sweep(model := Model(lambda _: False)).run(FREE, 4)
    assert (run_on(answers), len(set(model.fed)) > 40) == ([], True)
    assert len(answers.refused) == 4
    brief = sweep(model := Model(lambda _: False), brief=True).run(FREE, 4)
    assert (run_on(brief), (3, 224) in model.fed, (3, 32) in model.fed) == ([], True, False)
    assert run_on(sweep(Model(lambda shape: shape == (3, 224)), brief=True).run(FREE, 1)) == [(3, 224)]


@pytest.mark.parametrize(
    ("error", "labels", "asked"),
    [
        (RefusedError("no kernel", missing_kernel=True, custom="Own"), True, 1),
        (RefusedError("gone", aborted=True), False, 1),
        (RefusedError("gone", aborted=True), True, 4),
        (RefusedError("no"), False, 3),
    ],
    ids=["no kernel", "aborts without free sizes", "aborts", "refuses"],
)
def test_nothing_more_is_asked_of_a_model_that_no_size_helps(error: RefusedError, labels: bool, asked: int) -> None:
    free = FREE if labels else Free((), frozenset(), {"N": 2, "M": 2}, (X,))
    answers = sweep(model := Model(lambda _: False, error=error)).run(free, 3)
    assert (len(model.fed) >= asked, len(model.fed) == 1) == (True, asked == 1)
    assert (answers.missing_kernel, answers.custom) == (error.missing_kernel, error.custom)
    assert str(error) in answers.refusal


def test_a_kernel_that_other_sizes_lack_does_not_end_the_sweep() -> None:
    error = RefusedError("no kernel", missing_kernel=True)
    answers = sweep(model := Model(lambda shape: shape == (3, 5), error=error)).run(FREE, 3)
    assert (run_on(answers), answers.missing_kernel) == ([(3, 5)], True)
    assert list(dict.fromkeys(model.fed)) == [(3, 5), (1, 1), (2, 2)]


def test_larger_sizes_are_looked_for_where_no_output_of_small_ones_is_stable() -> None:
    answers = sweep(Model(value=lambda shape, at: at if shape[1] < 64 else 1)).run(FREE, 1)
    assert run_on(answers) == [(3, 64)]
    answers = sweep(model := Model(value=lambda _, at: at)).run(FREE, 1)
    assert (run_on(answers), len(set(model.fed))) == ([(3, 5)], 17)
    assert answers.accepted[0].compared == ()


def test_at_most_8_refusals_are_shown() -> None:
    cases = [Case({"N": size}, {"x": np.zeros((size, 1))}) for size in range(12)]
    answers = of_cases(Model(lambda shape: shape == (4, 1)), cases)
    assert [dict(answer.case.sizes) for answer in answers.accepted] == [{"N": 4}]
    assert [run.bindings["N"] for run in answers.refused] == [0, 1, 2, 3, 5, 6, 7, 8]
    assert not answers.missing_kernel
    lacking = of_cases(Model(lambda _: False, error=RefusedError("k", missing_kernel=True, custom="Own")), cases[:2])
    assert (lacking.missing_kernel, lacking.custom) == (True, "Own")
    once = Model()
    of_cases(once, cases[:1], brief=True)
    assert len(once.fed) == 1


@pytest.mark.parametrize(
    ("values", "differs"),
    [((1.0, 1.0), False), ((1.0, 2.0), True), ((0.0, -0.0), True), ((np.nan, -np.nan), False)],
    ids=["the same", "a number", "the sign of zero", "the payload of NaN"],
)
def test_an_output_that_differs_in_two_runs_is_not_compared(values: tuple[float, float], differs: bool) -> None:
    case = Case({}, {"x": np.zeros((1, 1))})
    model = Model(value=lambda _, at: values[at - 1])
    answer = ask(model, case)
    assert dict(answer.undetermined) == ({"y": DIFFERING} if differs else {})
    assert answer.compared == (() if differs else ("y",))
    once = ask(Model(value=lambda _, at: values[at - 1]), case, lambda: False)
    assert once.compared == ("y",)
    assert changed(once, {"y": np.full(2, values[1], np.float32)}) == ({"y": DIFFERING} if differs else {})
    assert changed(answer, {"y": np.full(2, 9, np.float32)}) == ({} if differs else {"y": DIFFERING})


def test_a_model_that_is_loaded_again_must_answer_the_same() -> None:
    cases = [Case({"N": size}, {"x": np.zeros((size, 1))}) for size in (1, 2, 3)]
    answers = of_cases(Model(), cases)
    again = after_reload(Model(lambda shape: shape != (2, 1), lambda shape, _: shape[0]), answers)
    assert [answer.compared for answer in again.accepted] == [("y",), ("y",), ()]


def test_reasons_add_up_for_outputs_that_there_are() -> None:
    why = Undetermined(TOLERANCE, "because", " of")
    answer = Answer(Case({}, {}), {"y": 1, "z": 2, "w": 3}, {"z": DIFFERING})
    found = Answers((answer,)).without({"y": why, "none": why}).accepted[0]
    assert (dict(found.undetermined), found.compared) == ({"z": DIFFERING, "y": why}, ("w",))


def test_the_long_search_is_made_once_and_nothing_larger_without_a_first_set() -> None:
    answers = sweep(model := Model(lambda _: False), larger=True).run(FREE, 4)
    assert (run_on(answers), len(model.fed) <= 100) == ([], True)
    sweep(model := Model(lambda _: False), brief=True).run(FREE, 4)
    assert len(model.fed) <= 20
    given = Free((), frozenset(), {"N": 2, "M": 2}, (X,))
    assert len(sweep(Model(lambda _: False)).run(given, 3).refused) == 1


def test_sets_that_are_looked_for_show_something() -> None:
    nothing = Model(empty=lambda shape: 37 in shape)
    assert run_on(sweep(nothing, larger=True).run(FREE, 1)) == [(3, 5), (3, 64)]
    assert run_on(sweep(Model(lambda shape: shape == (3, 5)), larger=True).run(FREE, 1)) == [(3, 5)]
    assert run_on(sweep(Model(empty=lambda shape: shape != (3, 224)), brief=True).run(FREE, 1)) == [(3, 224)]
    answers = sweep(Model(empty=lambda _: True)).run(FREE, 1)
    assert answers.refusal == "not run, the first model refuses it: its outputs have no element"
    two = Model(empty=lambda shape: shape[0] != 3, outputs=("y", "z"))
    assert run_on(sweep(two).run(FREE, 2)) == [(3, 5), (1, 1)]


def test_a_later_set_that_is_not_stable_stays() -> None:
    answers = sweep(Model(value=lambda shape, at: at if shape == (1, 1) else 0)).run(FREE, 2)
    assert [(answer.case.sizes["N"], answer.compared) for answer in answers.accepted] == [(3, ("y",)), (1, ())]


def test_the_first_of_several_refusals_is_said() -> None:
    model = Model()

    def refuses(_: Shape) -> bool:
        raise RefusedError(f"refusal {len(model.fed)}")

    model.takes = refuses
    whole = replace(X, dtype=np.dtype(np.int64))
    answers = sweep(model, interface=Interface((whole,), (), (), (whole,))).run(FREE, 1)
    assert answers.refusal.endswith("refuses it: refusal 1")
    assert model.fed[:2] == [(3, 5), (3, 5)]


def test_inputs_that_are_constants_have_shapes_for_the_limits() -> None:
    asked: list[Mapping[str, Shape]] = []

    def limits(shapes: Mapping[str, Shape]) -> Limits:
        asked.append(shapes)
        return Limits()

    constant = (TensorSpec("c", "tensor", np.dtype(np.float32), ("K",)), np.zeros(6, np.float32))
    sweep(Model(), limits=limits, interface=Interface((X,), (), (), (X,), (constant,))).run(FREE, 1)
    assert asked == [{"x": (3, 5), "c": (6,)}]


@pytest.mark.parametrize(
    ("errors", "missing", "custom"),
    [
        ("", False, ""),
        ("no", False, ""),
        ("own", True, "own"),
        ("no own", True, "own"),
        ("own no", True, "own"),
        ("own other", True, "other"),
        ("own no other no", True, "other"),
    ],
)
def test_given_cases_say_the_last_kernel_that_is_missing(errors: str, missing: bool, custom: str) -> None:
    """`no` is an error of the inputs, another word the custom operator that has no kernel."""
    words = errors.split()

    class Refusing:
        outputs = ("y",)

        def run(self, feeds: Mapping[str, object]) -> list[object]:
            word = str(feeds["x"])
            raise RefusedError(word, missing_kernel=word != "no", custom="" if word == "no" else word)

    answers = of_cases(Refusing(), [Case({"N": at}, {"x": word}) for at, word in enumerate(words)])
    assert (answers.missing_kernel, answers.custom, answers.accepted) == (missing, custom, ())
    assert [run.bindings for run in answers.refused] == [{"N": at} for at in range(len(words))]
    assert [str(run.reason).rpartition(": ")[2] for run in answers.refused] == words

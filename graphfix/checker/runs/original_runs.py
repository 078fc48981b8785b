"""Run the original (the first model) at several sets of sizes. The second model must return equal outputs."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, takewhile
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from graphfix.checker.runs.comparing.difference import difference
from graphfix.checker.runs.comparing.exceptions import UNSTABLE
from graphfix.checker.runs.inputs.seeded_inputs import Case, UnfedError, choices, seeded
from graphfix.checker.runs.sizes.free_sizes import alternatives, likely, principal, shape_of
from graphfix.checker.task import Criterion
from graphfix.results import Run
from graphfix.results.records import dataclass, field
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from graphfix.checker.runs.budget import Budget
    from graphfix.checker.runs.comparing.exceptions import Row
    from graphfix.checker.runs.inputs.input_limits import Limits
    from graphfix.checker.runs.inputs.interface import Interface
    from graphfix.checker.runs.sizes.free_sizes import Free, Sizes
    from graphfix.runtimes.session import Session

_SHOWN_REFUSALS = 8
_SEARCH_SECONDS = 2.0
"""The time in seconds in which a brief sweep searches for accepted sizes after the model refused the first sizes."""
_MOST_UNSTABLE = 16
"""The number of other sets of sizes that are tried if two runs on the first set differ in all outputs.

A random model would differ at all sizes, so the search is short.
"""


@dataclass(frozen=True, slots=True)
class Undetermined:
    """The reason why an output is not compared: a row of the table of exceptions, and the parts of a sentence.

    The sentence is `cause` + `leads` + ": " + the names of the outputs. `site` is the node or place that causes it, if
    known.
    """

    row: Row
    cause: str
    leads: str
    """The text between the cause and the names."""
    site: str | None = None


DIFFERING = Undetermined(UNSTABLE, "two runs of the first model itself differ", " in")


@dataclass(frozen=True, slots=True)
class Answer:
    """The outputs that the original returned for one case, and the outputs that differ from run to run."""

    case: Case
    outputs: Mapping[str, object] = field(repr=False)
    undetermined: Mapping[str, Undetermined] = field(default_factory=dict)
    """Output name -> the reason why the output is not compared."""

    @property
    def compared(self) -> tuple[str, ...]:
        """The names of the outputs that the second model must return with equal values."""
        return tuple(name for name in self.outputs if name not in self.undetermined)

    def without(self, undetermined: Mapping[str, Undetermined]) -> Answer:
        """Return the answer with further outputs excluded from the comparison, for these reasons."""
        new = {name: why for name, why in undetermined.items() if name in self.outputs}
        return replace(self, undetermined={**self.undetermined, **new})


@dataclass(frozen=True, slots=True)
class Answers:
    """The cases that the original accepted, with their outputs, and the runs that it refused.

    `missing_kernel`: the runtime lacks a kernel or an operator version that the model needs.
    """

    accepted: tuple[Answer, ...]
    refused: tuple[Run, ...] = ()
    missing_kernel: bool = False
    custom: str = ""
    """The name of the custom operator that the runtime does not support; empty if there is none."""

    def without(self, undetermined: Mapping[str, Undetermined]) -> Answers:
        """Return the answers with these outputs excluded from the comparison in every run."""
        return replace(self, accepted=tuple(answer.without(undetermined) for answer in self.accepted))

    @property
    def refusal(self) -> str:
        """The reason of the first refused run."""
        return next((str(run.reason) for run in self.refused), "it has no run")


def ask(session: Session, case: Case, may_repeat: Callable[[], bool] = lambda: True, *, brief: bool = False) -> Answer:
    """Run a case twice and return the answer.

    Outputs that differ between both runs are excluded from the comparison.

    Run it once if `brief`, or if `may_repeat` returns False after the first run. Raise RefusedError.
    """
    first = dict(zip(session.outputs, session.run(case.feeds), strict=True))
    if brief or not may_repeat():
        return Answer(case, first)
    second = dict(zip(session.outputs, session.run(case.feeds), strict=True))
    unstable = [name for name in first if _differs(first[name], second[name])]
    return Answer(case, first, dict.fromkeys(unstable, DIFFERING))


def of_cases(session: Session, cases: Sequence[Case], *, brief: bool = False) -> Answers:
    """Run cases whose inputs are from a file or were accepted elsewhere.

    A refused case is reported and does not stop the rest.
    """
    accepted: list[Answer] = []
    refused: list[Run] = []
    missing: RefusedError | None = None
    for case in cases:
        try:
            accepted.append(ask(session, case, brief=brief))
        except RefusedError as error:
            refused.append(_refusal(case.sizes, error))
            missing = error if error.missing_kernel else missing
    custom = "" if missing is None else missing.custom
    return Answers(tuple(accepted), tuple(refused[:_SHOWN_REFUSALS]), missing is not None, custom)


def after_reload(session: Session, answers: Answers) -> Answers:
    """Return the answers without the outputs that change when the original is loaded again as `session`.

    A kernel that reads past the end of a tensor reads memory whose content depends on the load.
    """
    return replace(answers, accepted=tuple(_after_reload(session, answer) for answer in answers.accepted))


def _after_reload(session: Session, answer: Answer) -> Answer:
    try:
        again = dict(zip(session.outputs, session.run(answer.case.feeds), strict=True))
    except RefusedError:
        return answer  # each run that differs is repeated in a fresh interpreter anyway
    return answer.without(changed(answer, again))


def changed(answer: Answer, again: Mapping[str, object]) -> dict[str, Undetermined]:
    """Return the compared outputs in which another run of the original (`again`) differs, each with the reason."""
    differing = (name for name in answer.compared if _differs(answer.outputs[name], again[name]))
    return dict.fromkeys(differing, DIFFERING)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Runs one model on seeded inputs at several sets of sizes."""

    session: Session
    limits: Callable[[Mapping[str, tuple[int, ...]]], Limits]
    """(shape by input name) -> the limits that the values of the inputs must respect."""
    interface: Interface
    seed: int
    larger: bool = False
    """Whether one set of larger sizes is run, too."""
    budget: Budget | None = None
    """The time budget of the runs; None for no limit."""
    brief: bool = False
    """Whether to stop after the first accepted run, and to try few sets of sizes before it."""
    least: bool = False
    """Whether the smallest sizes are run first."""
    most_choices: int | None = None
    """The number of input values that are tried for one set of sizes; None for all choices."""

    def run(self, free: Free, runs: int) -> Answers:
        """Run at most `runs` sets of sizes, and one of larger sizes if `larger`.

        Search for other sizes if a set is refused.
        """
        accepted: list[Answer] = []
        refused: list[Run] = []
        missing: RefusedError | None = None
        wanted = self._wanted(free, runs, accepted, refused)
        for kind, sizes in takewhile(lambda _: not (self.brief and accepted), wanted):
            filled = kind == "distinct"
            result: Answer | RefusedError | None = self.attempt(sizes, len(accepted), filled=filled)
            if isinstance(result, RefusedError):
                refused += [run for run in [_refusal(sizes, result)] if run not in refused]
                missing = missing or (result if result.missing_kernel else None)
                if not accepted and (missing is not None or (result.aborted and not free.labels)):
                    break  # no other size has a kernel, and no other value avoids an abort
                result = None if missing is not None else self._instead(free, kind, accepted, len(refused) == 1)
            elif result is not None and not accepted and free.labels and not result.compared:
                result = self._stable(free) or result
            if result is not None and (not free.labels or _new(result, accepted)):
                accepted.append(result)
        if self.larger and accepted and (self.budget is None or self.budget.allows_larger):
            others = alternatives(free, "larger", accepted[0].case.sizes)
            result = self.first(others, len(accepted), filled=True)
            if result is not None and _new(result, accepted):
                accepted.append(result)
        custom = "" if missing is None else missing.custom
        return Answers(tuple(accepted), tuple(refused[:_SHOWN_REFUSALS]), missing is not None, custom)

    def _wanted(
        self, free: Free, runs: int, accepted: Sequence[Answer], refused: list[Run]
    ) -> Iterable[tuple[str, Sizes]]:
        """Return the (kind, sizes) pairs to run. With a budget, sets that exceed it are appended to `refused`."""
        wanted = principal(free, runs)
        if self.least:
            wanted.sort(key=lambda each: each[0] != "1")
        return wanted if self.budget is None else self.budget.within(wanted, lambda: len(accepted), refused)

    def _ask(self, case: Case) -> Answer:
        """Run a case, within the budget if there is one."""
        if self.budget is None:
            return ask(self.session, case, brief=self.brief)
        return ask(self.budget.timed(self.session), case, self.budget.may_repeat, brief=self.brief)

    def _instead(self, free: Free, kind: str, accepted: Sequence[Answer], fresh: bool) -> Answer | None:
        """Search for accepted sizes after a set of this kind was refused; None if no sizes are found.

        `fresh`: this is the first refusal. If no sizes were accepted so far, the long search runs only then.
        """
        if accepted:
            others = alternatives(free, kind, accepted[0].case.sizes)
            return self.first(others, len(accepted), filled=kind != "0")
        if self.brief:
            return self._searched(free) if fresh else None
        return self.first(alternatives(free, kind, None), 0, filled=True) if fresh else None

    def _searched(self, free: Free) -> Answer | None:
        """Search for accepted sizes among a few likely sets, for at most `_SEARCH_SECONDS`; None if none is found."""
        until = monotonic() + _SEARCH_SECONDS
        others = takewhile(lambda _: monotonic() < until, likely(free))
        return replace(self, most_choices=1).first(others, 0, filled=True)

    def _stable(self, free: Free) -> Answer | None:
        """Search for sizes at which at least one output is equal in two runs; None if none is found.

        At sizes that are too small, kernels may read past the end of an operand.
        """
        for sizes in islice(alternatives(free, "distinct", None), _MOST_UNSTABLE):
            result = self.attempt(sizes, 0, filled=True)
            if isinstance(result, Answer) and result.compared:
                return result
        return None

    def first(self, candidates: Iterator[Mapping[str, int]], number: int, *, filled: bool) -> Answer | None:
        """Return the answer for the first candidate sizes that the model accepts; None if it refuses all."""
        for sizes in candidates:
            result = self.attempt(sizes, number, filled=filled)
            if isinstance(result, Answer):
                return result
        return None

    def attempt(self, sizes: Mapping[str, int], number: int, *, filled: bool) -> Answer | RefusedError:
        """Return the answer at these sizes, for the first values that the model accepts, or the first refusal.

        `number` is the number of the run and part of the seed. `filled`: at least one output must have an element.
        """
        shapes = {spec.name: shape_of(spec, sizes) for spec in self.interface.inputs}
        shapes |= {name: array.shape for name, array in self.interface.constant_feeds.items()}
        input_limits = self.limits(shapes)
        refusal: RefusedError | None = None
        for choice in islice(choices(self.interface, input_limits, number), self.most_choices):
            try:
                case = seeded(self.interface, sizes, input_limits, choice, (self.seed, number))
                answer = self._ask(case)
            except RefusedError as error:
                refusal = refusal or error
                continue
            if not filled or any(_has_elements(value) for value in answer.outputs.values()):
                return answer
            refusal = refusal or RefusedError("its outputs have no element")
        return refusal or RefusedError("it has no input to run")


def _new(answer: Answer, accepted: Sequence[Answer]) -> bool:
    """Return whether no accepted answer has the sizes of this answer."""
    return all(each.case.sizes != answer.case.sizes for each in accepted)


def _has_elements(value: object) -> bool:
    return bool(value.size) if isinstance(value, np.ndarray) else bool(value)


def _differs(a: object, b: object) -> bool:
    """Return whether two values differ in more than the bits of NaN."""
    found = difference(a, b, Criterion())
    return found is not None and ("value" in found.counts or "signed-zero" in found.counts)


def _refusal(sizes: Mapping[str, int], error: RefusedError) -> Run:
    """Return an undecided run that reports why the original was not run at these sizes."""
    why = "not run" if isinstance(error, UnfedError) else "not run, the first model refuses it"
    return Run(dict(sizes), "off", "undecided", reason=f"{why}: {error}")

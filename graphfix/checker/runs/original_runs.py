"""Run the original under the sizes and inputs that it takes: the other model must return the same."""

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
"""How long a brief sweep looks for sizes that the model takes, where it refuses the first ones."""
_MOST_UNSTABLE = 16
"""How many other sizes are tried where two runs at the first ones differ: a model that is random differs at all."""


@dataclass(frozen=True, slots=True)
class Undetermined:
    """Why an output says nothing: a row of the table, and a sentence that ends in the names of such outputs."""

    row: Row
    cause: str
    leads: str
    """What stands between the cause and the names."""
    site: str | None = None


DIFFERING = Undetermined(UNSTABLE, "two runs of the first model itself differ", " in")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the original returned for one case, and the outputs that it does not itself determine."""

    case: Case
    outputs: Mapping[str, object] = field(repr=False)
    undetermined: Mapping[str, Undetermined] = field(default_factory=dict)
    """By output: they are not compared."""

    @property
    def compared(self) -> tuple[str, ...]:
        """The outputs that the other model must return."""
        return tuple(name for name in self.outputs if name not in self.undetermined)

    def without(self, undetermined: Mapping[str, Undetermined]) -> Answer:
        """Leave these outputs uncompared too, for these reasons."""
        new = {name: why for name, why in undetermined.items() if name in self.outputs}
        return replace(self, undetermined={**self.undetermined, **new})


@dataclass(frozen=True, slots=True)
class Answers:
    """The cases that count, and the sizes that the original refused."""

    accepted: tuple[Answer, ...]
    refused: tuple[Run, ...] = ()
    missing_kernel: bool = False
    custom: str = ""
    """The custom operator that the runtime does not know."""

    def without(self, undetermined: Mapping[str, Undetermined]) -> Answers:
        """Leave these outputs uncompared in every run."""
        return replace(self, accepted=tuple(answer.without(undetermined) for answer in self.accepted))

    @property
    def refusal(self) -> str:
        """The first refusal's reason."""
        return next((str(run.reason) for run in self.refused), "it has no run")


def ask(session: Session, case: Case, may_repeat: Callable[[], bool] = lambda: True, *, brief: bool = False) -> Answer:
    """Run one case twice; once if `brief`, or if `may_repeat` is False after the first run. Raises RefusedError."""
    first = dict(zip(session.outputs, session.run(case.feeds), strict=True))
    if brief or not may_repeat():
        return Answer(case, first)
    second = dict(zip(session.outputs, session.run(case.feeds), strict=True))
    unstable = [name for name in first if _differs(first[name], second[name])]
    return Answer(case, first, dict.fromkeys(unstable, DIFFERING))


def of_cases(session: Session, cases: Sequence[Case], *, brief: bool = False) -> Answers:
    """Run cases with given inputs, or that the same model has taken elsewhere; a case that it refuses is reported."""
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
    """Ask the original, loaded again, for the same: an output that differs then is not stable either.

    A kernel that reads past the end of a tensor finds there what the loading left.
    """
    return replace(answers, accepted=tuple(_after_reload(session, answer) for answer in answers.accepted))


def _after_reload(session: Session, answer: Answer) -> Answer:
    try:
        again = dict(zip(session.outputs, session.run(answer.case.feeds), strict=True))
    except RefusedError:
        return answer  # whether it fails from a fresh interpreter is asked of each run that differs
    return answer.without(changed(answer, again))


def changed(answer: Answer, again: Mapping[str, object]) -> dict[str, Undetermined]:
    """Return the outputs in which another run of the original differs from its answer."""
    differing = (name for name in answer.compared if _differs(answer.outputs[name], again[name]))
    return dict.fromkeys(differing, DIFFERING)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Runs one model on seeded inputs at several sizes."""

    session: Session
    limits: Callable[[Mapping[str, tuple[int, ...]]], Limits]
    """What the values of the inputs must keep to, under these shapes of them."""
    interface: Interface
    seed: int
    larger: bool = False
    """Whether one set of larger sizes is run too."""
    budget: Budget | None = None
    """The budget of the runs; None if they have no limit."""
    brief: bool = False
    """Whether one run is enough: on the first set of sizes that the model takes, and of few that are tried."""
    least: bool = False
    """Whether the least sizes come first."""
    most_choices: int | None = None
    """How many choices of values are tried at one set of sizes; None for all."""

    def run(self, free: Free, runs: int) -> Answers:
        """Run at most `runs` sets of sizes, and a larger one; where one is refused, look for others that are taken."""
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
                    break  # no other size has a kernel, no other value avoids an abort
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
        """Return the sets of sizes to run within the budget."""
        wanted = principal(free, runs)
        if self.least:
            wanted.sort(key=lambda each: each[0] != "1")
        return wanted if self.budget is None else self.budget.within(wanted, lambda: len(accepted), refused)

    def _ask(self, case: Case) -> Answer:
        if self.budget is None:
            return ask(self.session, case, brief=self.brief)
        return ask(self.budget.timed(self.session), case, self.budget.may_repeat, brief=self.brief)

    def _instead(self, free: Free, kind: str, accepted: Sequence[Answer], fresh: bool) -> Answer | None:
        """Look for other sizes; without any that were taken the long search is made once (`fresh`)."""
        if accepted:
            others = alternatives(free, kind, accepted[0].case.sizes)
            return self.first(others, len(accepted), filled=kind != "0")
        if self.brief:
            return self._searched(free) if fresh else None
        return self.first(alternatives(free, kind, None), 0, filled=True) if fresh else None

    def _searched(self, free: Free) -> Answer | None:
        """Look for sizes that the model takes, among few and for a short time."""
        until = monotonic() + _SEARCH_SECONDS
        others = takewhile(lambda _: monotonic() < until, likely(free))
        return replace(self, most_choices=1).first(others, 0, filled=True)

    def _stable(self, free: Free) -> Answer | None:
        """Look for sizes at which some output is the same in two runs: too small ones let kernels read past the end."""
        for sizes in islice(alternatives(free, "distinct", None), _MOST_UNSTABLE):
            result = self.attempt(sizes, 0, filled=True)
            if isinstance(result, Answer) and result.compared:
                return result
        return None

    def first(self, candidates: Iterator[Mapping[str, int]], number: int, *, filled: bool) -> Answer | None:
        """Return the answer for the first sizes that the model takes."""
        for sizes in candidates:
            result = self.attempt(sizes, number, filled=filled)
            if isinstance(result, Answer):
                return result
        return None

    def attempt(self, sizes: Mapping[str, int], number: int, *, filled: bool) -> Answer | RefusedError:
        """Run these sizes with values that the model takes; `filled`: some output must have an element."""
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
    return all(each.case.sizes != answer.case.sizes for each in accepted)


def _has_elements(value: object) -> bool:
    return bool(value.size) if isinstance(value, np.ndarray) else bool(value)


def _differs(a: object, b: object) -> bool:
    found = difference(a, b, Criterion())
    return found is not None and ("value" in found.counts or "signed-zero" in found.counts)


def _refusal(sizes: Mapping[str, int], error: RefusedError) -> Run:
    why = "not run" if isinstance(error, UnfedError) else "not run, the first model refuses it"
    return Run(dict(sizes), "off", "undecided", reason=f"{why}: {error}")

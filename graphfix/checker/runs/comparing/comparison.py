"""Run the second model on the inputs that the first one accepted, and decide whether their outputs differ."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from graphfix.checker.runs.comparing import exceptions
from graphfix.checker.runs.comparing.difference import Difference, difference, has_number, nothing_compared, only_nan
from graphfix.checker.runs.comparing.first_difference import Place
from graphfix.checker.runs.inputs.given_inputs import expectation
from graphfix.checker.runs.original_runs import changed
from graphfix.results import Run, Verdict
from graphfix.results.progress import RUNS_OF_BOTH, RUNS_OF_SECOND, Progress
from graphfix.results.records import dataclass, field
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from graphfix.checker.runs.budget import Budget
    from graphfix.checker.runs.comparing.first_difference import ExposingOpener
    from graphfix.checker.runs.original_runs import Answer, Answers, Undetermined
    from graphfix.checker.task import Criterion
    from graphfix.runtimes.session import Session

    Opener = Callable[[], Session]
    Outputs = dict[str, object] | RefusedError

_MOST_ATTEMPTS = 3
"""Runs of the second model that must fail before it counts as failing: a kernel may fail because of stale memory."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two models are opened, and how their outputs are compared."""

    opened: tuple[Opener, Opener]
    criterion: Criterion
    locate: Callable[[Mapping[str, object], Mapping[str, Difference]], Place | None]
    """(the inputs, the outputs that differ) -> the first tensor that differs."""
    runtime: exceptions.Runtime
    """The runtime. Some rows of the table of exceptions hold for one runtime only."""
    progress: Progress = field(repr=False)
    exposing: tuple[ExposingOpener, ExposingOpener] | None = None
    """Opens them with further outputs, by the names of inner values."""
    optimized: tuple[Opener, Opener] | None = None
    """Opens them with all optimizations, for runs that are reported and do not decide."""
    budget: Budget | None = None
    """The budget of the runs; None for no limit."""
    brief: bool = False
    """Whether nothing that differs is looked into: it is "different" until runs that are not brief have decided."""


@dataclass(frozen=True, slots=True)
class _Finding:
    """The result of one run."""

    run: Run
    exceptions: tuple[dict[str, object], ...] = ()
    first: dict[str, object] | None = None
    undetermined: Mapping[str, Undetermined] = field(default_factory=dict)
    open: str | None = None
    """Why the run does not decide, whatever its outputs are."""
    numbers: Mapping[str, bool | None] = field(default_factory=dict)
    """By compared output: whether it has a number; None for an output without elements."""


def weigh(comparison: Comparison, answers: Answers) -> Verdict:
    """Run the second model on the accepted inputs; return the verdict of the comparison."""
    comparison.progress(RUNS_OF_SECOND)
    try:
        session = comparison.opened[1]()
    except RefusedError as error:
        if error.stopped:
            return Verdict("undecided", runs=answers.refused, reason=f"the second model was not run: {error}")
        reason = f"the second model does not load, the first runs: {error}"
        failed = Run({}, "off", "different", reason=reason)
        return Verdict("different", runs=(failed, *answers.refused), reason=reason)
    given: list[Outputs] = []
    left_out: list[Run] = []
    for done, answer in enumerate(answers.accepted):
        if comparison.budget is not None and comparison.budget.is_over(len(given)):
            left_out.append(Run(dict(answer.case.sizes), "off", "undecided", reason=comparison.budget.why))
            continue
        comparison.progress(RUNS_OF_SECOND, done, len(answers.accepted))
        given.append(_outputs_of(session, answer))
    answers = replace(answers, accepted=answers.accepted[: len(given)], refused=(*left_out, *answers.refused))
    del session  # one model in memory at a time
    findings: list[_Finding] = []
    for answer, outputs in zip(answers.accepted, given, strict=True):
        decided = any(finding.run.status == "different" for finding in findings)
        look = _at_first_sight if comparison.brief else partial(_found, located=decided)
        findings.append(look(comparison, answer, outputs))
    verdict = _verdict(findings)
    optimized = _optimized(comparison.optimized, comparison, answers) if comparison.optimized is not None else []
    runs = [*(finding.run for finding in findings), *optimized, *answers.refused]
    return replace(verdict, runs=tuple(runs))


def _verdict(findings: Sequence[_Finding]) -> Verdict:
    listed = _merged([entry for finding in findings for entry in finding.exceptions])
    worst = next((f for f in findings if f.run.status == "different"), None)
    if worst is not None:
        return Verdict("different", exceptions=listed, first_difference=worst.first, reason=worst.run.reason)
    undetermined = {name: why for finding in findings for name, why in finding.undetermined.items()}
    reasons = [*_undetermined(undetermined), *(finding.open for finding in findings if finding.open)]
    unseen = only_nan(finding.numbers for finding in findings)
    if unseen:
        reasons.append(nothing_compared(unseen))
        listed += tuple(exceptions.ONLY_NAN.entry(None, name) for name in unseen)
    if reasons:
        return Verdict("undecided", exceptions=listed, reason="; ".join(dict.fromkeys(reasons)))
    return Verdict("equal", exceptions=listed)


def _at_first_sight(comparison: Comparison, answer: Answer, outputs: Outputs) -> _Finding:
    """Compare the outputs of one run without a second look: a difference makes it "different"."""
    if isinstance(outputs, RefusedError) or _compared(answer, outputs, comparison.criterion):
        return _Finding(Run(dict(answer.case.sizes), "off", "different", reason="they seem to differ"))
    return _judged(comparison, answer, outputs, located=False)


def _found(comparison: Comparison, answer: Answer, outputs: Outputs, *, located: bool) -> _Finding:
    """Compare the outputs of one run. If they seem to differ, compare again with fresh interpreters.

    `located`: another run differs already, so this one does not decide, and the first difference is known.
    """
    failed = isinstance(outputs, RefusedError)
    if isinstance(outputs, RefusedError) and outputs.stopped:  # an explicit form takes more time and memory
        reason = f"the second model was stopped where the first runs: {outputs}"
        return _Finding(Run(dict(answer.case.sizes), "off", "undecided", reason=reason), open=reason)
    if not _suspicious(comparison, answer, outputs) or (located and not failed):
        return _judged(comparison, answer, outputs, located=located)
    failure: RefusedError | None = None
    for before, after in _repetitions(comparison.opened, answer, 1 if located else _MOST_ATTEMPTS):
        if isinstance(before, RefusedError):
            return _shared(answer, f"the first model itself fails from a fresh interpreter: {before}")
        fresh = replace(answer, outputs=before)
        if not _suspicious(comparison, fresh, after):
            if failure is not None:
                return _shared(answer, f"the second model fails now and then: {failure}")
            return _reused(_judged(comparison, fresh, after, located=located), answer)
        answer = fresh.without(changed(answer, before))
        outputs = after
        failure = after if isinstance(after, RefusedError) else failure
    return _judged(comparison, answer, outputs, located=located)


def _suspicious(comparison: Comparison, answer: Answer, outputs: Outputs) -> bool:
    """Return whether more differs than the exceptions excuse."""
    if isinstance(outputs, RefusedError):
        return True
    differences = _compared(answer, outputs, comparison.criterion).values()
    return not all(exceptions.excused(found, comparison.runtime, None) for found in differences)


def _shared(answer: Answer, reason: str) -> _Finding:
    sizes = dict(answer.case.sizes)
    entry = exceptions.SHARED_FAILURE.entry(_sizes_text(sizes))
    return _Finding(Run(sizes, "off", "undecided", reason=reason), exceptions=(entry,), open=reason)


def _reused(finding: _Finding, answer: Answer) -> _Finding:
    entry = exceptions.REUSED_INTERPRETER.entry(_sizes_text(answer.case.sizes))
    reason = finding.run.reason or "from fresh interpreters: one that had run other sizes did otherwise"
    return replace(finding, run=replace(finding.run, reason=reason), exceptions=(*finding.exceptions, entry))


def _judged(comparison: Comparison, answer: Answer, outputs: Outputs, *, located: bool) -> _Finding:
    sizes = dict(answer.case.sizes)
    if isinstance(outputs, RefusedError):
        reason = f"the second model fails where the first runs: {outputs}"
        return _Finding(Run(sizes, "off", "different", reason=reason))
    differences = _compared(answer, outputs, comparison.criterion)
    open_ = _undetermined(answer.undetermined)
    finding = _Finding(
        Run(
            sizes,
            "off",
            "undecided" if open_ else "equal",
            outputs=len(answer.compared),
            largest_difference=_largest(differences.values()),
            reason="; ".join(open_) or _expected(answer, outputs),
        ),
        undetermined=answer.undetermined,
        exceptions=tuple(why.row.entry(why.site, name) for name, why in answer.undetermined.items()),
        numbers={name: has_number(answer.outputs[name]) for name in answer.compared},
    )
    if not differences or located:
        decided = any("value" in found.counts for found in differences.values())
        run = replace(finding.run, status="different", reason=_named(differences)) if decided else finding.run
        return _nothing_but_nan(replace(finding, run=run))
    return _nothing_but_nan(_placed(comparison, answer, differences, finding))


def _placed(
    comparison: Comparison, answer: Answer, differences: Mapping[str, Difference], finding: _Finding
) -> _Finding:
    comparison.progress("looking for the first tensor that differs")
    place = comparison.locate(answer.case.feeds, differences)
    op = place.op if place is not None else None
    decisive = [
        (name, found) for name, found in differences.items() if not exceptions.excused(found, comparison.runtime, op)
    ]
    if decisive:
        record = (place or Place(decisive[0][0], "", "", decisive[0][1])).as_record()
        run = replace(finding.run, status="different", reason=_named(differences))
        return replace(finding, run=run, first=record)
    site = place.producer if place is not None else None
    entries: list[dict[str, object]] = [
        {"class": kind, "output": name, "site": site, "count": count}
        for name, found in differences.items()
        for kind, count in found.counts.items()
    ]
    return replace(finding, exceptions=(*finding.exceptions, *entries))


def _nothing_but_nan(finding: _Finding) -> _Finding:
    """Return the finding as undecided if every output with elements is NaN throughout."""
    shown = [number for number in finding.numbers.values() if number is not None]
    if finding.run.status != "equal" or not shown or any(shown):
        return finding
    return replace(finding, run=replace(finding.run, status="undecided", reason="every output is NaN throughout"))


def _compared(answer: Answer, outputs: Mapping[str, object], criterion: Criterion) -> dict[str, Difference]:
    found = {name: difference(answer.outputs[name], outputs[name], criterion) for name in answer.compared}
    return {name: each for name, each in found.items() if each is not None}


def _optimized(openers: tuple[Opener, Opener], comparison: Comparison, answers: Answers) -> list[Run]:
    """Run both models with all optimizations. The runs are reported; only a failed load of the second model decides."""
    comparison.progress(f"{RUNS_OF_BOTH} with optimizations")
    results: list[list[Outputs]] = []
    refusals: list[RefusedError | None] = []
    for opener in openers:
        try:
            session = opener()
            results.append([_outputs_of(session, answer) for answer in answers.accepted])
            refusals.append(None)
            del session  # one model in memory at a time
        except RefusedError as error:
            refusals.append(error)
    if refusals[0] is None and refusals[1] is not None and not refusals[1].stopped:
        reason = f"the second model does not load, the first does: {refusals[1]}"
        return [Run({}, "on", "different", reason=reason)]
    why = _failure(*refusals)
    if why is not None:
        return [Run({}, "on", "undecided", reason=why)]
    return [
        _optimized_run(answer, before, after, comparison.criterion)
        for answer, before, after in zip(answers.accepted, *results, strict=True)
    ]


def _failure(before: object, after: object) -> str | None:
    """Return which of the two models fails, with the runtime's message; None if both run."""
    failed = [error for error in (before, after) if isinstance(error, RefusedError)]
    if not failed:
        return None
    which = "both models fail" if len(failed) > 1 else f"the {'first' if failed[0] is before else 'second'} model fails"
    return f"{which}: {failed[0]}"


def _optimized_run(
    answer: Answer,
    before: Outputs,
    after: Outputs,
    criterion: Criterion,
) -> Run:
    sizes = dict(answer.case.sizes)
    why = _failure(before, after)
    if why is not None or isinstance(before, RefusedError) or isinstance(after, RefusedError):
        return Run(sizes, "on", "undecided", reason=why)
    found = _compared(replace(answer, outputs=before), after, criterion)
    different = any({"value", "signed-zero"} & found[name].counts.keys() for name in found)
    return Run(
        sizes,
        "on",
        "different" if different else "equal",
        outputs=len(answer.compared),
        largest_difference=_largest(found.values()),
    )


def _largest(found: Iterable[Difference]) -> float:
    return max((each.largest for each in found if each.largest is not None), default=0.0)


def _expected(answer: Answer, outputs: Mapping[str, object]) -> str | None:
    before = expectation(answer.outputs, answer.case.expected)
    after = expectation(outputs, answer.case.expected)
    if before is not None and after is not None:
        return f"both models: {before}"
    return before or after


def _merged(entries: Sequence[dict[str, object]]) -> tuple[dict[str, object], ...]:
    """Return the entries with the counts of equal class, output and site added up."""
    merged: dict[tuple[object, ...], int] = {}
    for entry in entries:
        key = (entry["class"], entry["output"], entry["site"])
        merged[key] = merged.get(key, 0) + int(str(entry["count"]))
    return tuple({"class": kind, "output": name, "site": site, "count": n} for (kind, name, site), n in merged.items())


def _named(differences: Mapping[str, Difference]) -> str:
    return f"the outputs differ: {', '.join(differences)}"


def _undetermined(outputs: Mapping[str, Undetermined]) -> list[str]:
    """Return why outputs are not compared: each reason once, with the names of its outputs."""
    names: dict[str, list[str]] = {}
    for name, why in outputs.items():
        names.setdefault(why.cause + why.leads, []).append(name)
    return [f"{reason}: {', '.join(output_names)}" for reason, output_names in names.items()]


def _sizes_text(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items()) or "the given sizes"


# --- the same case again, from fresh interpreters: LiteRT's results may depend on the sizes of earlier runs -----------


def _repetitions(opened: tuple[Opener, Opener], answer: Answer, attempts: int) -> Iterator[tuple[Outputs, Outputs]]:
    """Yield the outputs of both models for a case, from fresh interpreters; repeat while the second model fails.

    A process that dies or is stopped is not tried again.
    """
    for _ in range(attempts):
        before = _from_fresh(opened[0], answer)
        after = _from_fresh(opened[1], answer)
        yield before, after
        if not isinstance(after, RefusedError) or after.aborted:
            return


def _from_fresh(opener: Opener, answer: Answer) -> Outputs:
    try:
        return _outputs_of(opener(), answer)
    except RefusedError as error:
        return error


def _outputs_of(session: Session, answer: Answer) -> Outputs:
    """Run a case; return the outputs by name, or the error if it is refused."""
    try:
        return dict(zip(session.outputs, session.run(answer.case.feeds), strict=True))
    except RefusedError as error:
        return error

"""Run the second model on the inputs that the first model accepted, and decide whether the outputs differ."""

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
"""The second model counts as failing after this number of failed runs. Stale memory may make a kernel fail once."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Functions that load the two models, and settings for the comparison of their outputs.

    `opened` loads the first and the second model. `criterion` is bit equality or a tolerance.
    """

    opened: tuple[Opener, Opener]
    criterion: Criterion
    locate: Callable[[Mapping[str, object], Mapping[str, Difference]], Place | None]
    """(inputs of the run, differences by output) -> the first tensor that differs; None if it is not found."""
    runtime: exceptions.Runtime
    """The runtime of both models. Some rows of the table of exceptions apply to one runtime only."""
    progress: Progress = field(repr=False)
    exposing: tuple[ExposingOpener, ExposingOpener] | None = None
    """Load the first and the second model with inner values as additional outputs: (names of the values) -> session."""
    optimized: tuple[Opener, Opener] | None = None
    """Load the first and the second model with all optimizations.

    Differences between these runs are reported, not decisive.
    """
    budget: Budget | None = None
    """The time budget of the runs; None for no limit."""
    brief: bool = False
    """Whether a difference is not examined: the run counts as "different", and later runs that are not brief decide."""


@dataclass(frozen=True, slots=True)
class _Finding:
    """The result of one run: its row of the report (`run`), and exceptions for the verdict.

    `first` is the first tensor that differs, None if not searched for or not found. `undetermined` maps outputs that
    are not compared to the reason.
    """

    run: Run
    exceptions: tuple[dict[str, object], ...] = ()
    first: dict[str, object] | None = None
    undetermined: Mapping[str, Undetermined] = field(default_factory=dict)
    open: str | None = None
    """The reason why the run decides nothing, independent of its outputs; None if the run decides."""
    numbers: Mapping[str, bool | None] = field(default_factory=dict)
    """Output name -> whether the output contains a number (not only NaN); None for an output without elements."""


def weigh(comparison: Comparison, answers: Answers) -> Verdict:
    """Run the second model on the inputs that the first accepted (`answers`), and return the verdict of the comparison.

    If the second model does not load, the verdict is "different". It is "undecided" if a limit of time or memory
    stopped the load.
    """
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
    del session  # release the session: only one model is in memory at a time
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
    """Return the verdict over all runs, without the list of runs.

    It is "different" if a run differs. It is "undecided" if an output is not compared, a run does not decide, or an
    output is NaN in all runs. Else it is "equal".
    """
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
    """Compare the outputs of one run without a second run: any difference or failure makes the run "different"."""
    if isinstance(outputs, RefusedError) or _compared(answer, outputs, comparison.criterion):
        return _Finding(Run(dict(answer.case.sizes), "off", "different", reason="they seem to differ"))
    return _judged(comparison, answer, outputs, located=False)


def _found(comparison: Comparison, answer: Answer, outputs: Outputs, *, located: bool) -> _Finding:
    """Compare the outputs of one run.

    If they seem to differ, repeat both runs in fresh interpreters and compare again.

    `located`: another run differs already, so the first tensor that differs is not searched for again. The run is
    undecided if the first model fails in a fresh interpreter, or if the second model fails only sometimes.
    """
    failed = isinstance(outputs, RefusedError)
    # the second model may be stopped because an explicit broadcast uses more time and memory
    if isinstance(outputs, RefusedError) and outputs.stopped:
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
    """Return whether the second model failed, or whether outputs differ in a way that no exception excuses."""
    if isinstance(outputs, RefusedError):
        return True
    differences = _compared(answer, outputs, comparison.criterion).values()
    return not all(exceptions.excused(found, comparison.runtime, None) for found in differences)


def _shared(answer: Answer, reason: str) -> _Finding:
    """Return the finding of an undecided run with the exception SHARED_FAILURE: both models may fail here."""
    sizes = dict(answer.case.sizes)
    entry = exceptions.SHARED_FAILURE.entry(_sizes_text(sizes))
    return _Finding(Run(sizes, "off", "undecided", reason=reason), exceptions=(entry,), open=reason)


def _reused(finding: _Finding, answer: Answer) -> _Finding:
    """Return the finding with one more exception: a reused interpreter caused the difference or failure."""
    entry = exceptions.REUSED_INTERPRETER.entry(_sizes_text(answer.case.sizes))
    reason = finding.run.reason or "from fresh interpreters: one that had run other sizes did otherwise"
    return replace(finding, run=replace(finding.run, reason=reason), exceptions=(*finding.exceptions, entry))


def _judged(comparison: Comparison, answer: Answer, outputs: Outputs, *, located: bool) -> _Finding:
    """Return the finding for one run, without repeating the run. A failure of the second model makes it "different".

    `located`: do not search for the first tensor that differs.
    """
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
    """Return the finding with the first tensor that differs, or with the exceptions that excuse all differences."""
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
    """Return the finding as undecided if every output with elements contains only NaN."""
    shown = [number for number in finding.numbers.values() if number is not None]
    if finding.run.status != "equal" or not shown or any(shown):
        return finding
    return replace(finding, run=replace(finding.run, status="undecided", reason="every output is NaN throughout"))


def _compared(answer: Answer, outputs: Mapping[str, object], criterion: Criterion) -> dict[str, Difference]:
    """Return the differences by output name, for the compared outputs that differ."""
    found = {name: difference(answer.outputs[name], outputs[name], criterion) for name in answer.compared}
    return {name: each for name, each in found.items() if each is not None}


def _optimized(openers: tuple[Opener, Opener], comparison: Comparison, answers: Answers) -> list[Run]:
    """Run both models with all optimizations and return the runs for the report.

    If the second model does not load but the first does, return a single run that is "different".
    """
    comparison.progress(f"{RUNS_OF_BOTH} with optimizations")
    results: list[list[Outputs]] = []
    refusals: list[RefusedError | None] = []
    for opener in openers:
        try:
            session = opener()
            results.append([_outputs_of(session, answer) for answer in answers.accepted])
            refusals.append(None)
            del session  # release the session: only one model is in memory at a time
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
    """Return which of the two models failed, with the runtime's message; None if both returned outputs."""
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
    """Return a text if a model's outputs differ from those of the user's test data set; else None."""
    before = expectation(answer.outputs, answer.case.expected)
    after = expectation(outputs, answer.case.expected)
    if before is not None and after is not None:
        return f"both models: {before}"
    return before or after


def _merged(entries: Sequence[dict[str, object]]) -> tuple[dict[str, object], ...]:
    """Return the exceptions with the counts added up for equal class, output and site."""
    merged: dict[tuple[object, ...], int] = {}
    for entry in entries:
        key = (entry["class"], entry["output"], entry["site"])
        merged[key] = merged.get(key, 0) + int(str(entry["count"]))
    return tuple({"class": kind, "output": name, "site": site, "count": n} for (kind, name, site), n in merged.items())


def _named(differences: Mapping[str, Difference]) -> str:
    return f"the outputs differ: {', '.join(differences)}"


def _undetermined(outputs: Mapping[str, Undetermined]) -> list[str]:
    """Return the reasons why outputs are not compared. Each reason is listed once, with the names of its outputs."""
    names: dict[str, list[str]] = {}
    for name, why in outputs.items():
        names.setdefault(why.cause + why.leads, []).append(name)
    return [f"{reason}: {', '.join(output_names)}" for reason, output_names in names.items()]


def _sizes_text(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items()) or "the given sizes"


# --- repeat a case in fresh interpreters, because LiteRT's results may depend on the sizes of earlier runs ------------


def _repetitions(opened: tuple[Opener, Opener], answer: Answer, attempts: int) -> Iterator[tuple[Outputs, Outputs]]:
    """Yield the results of the first and the second model for one case, each in a fresh interpreter.

    Repeat at most `attempts` times while the second model fails. Do not repeat after its process has ended.
    """
    for _ in range(attempts):
        before = _from_fresh(opened[0], answer)
        after = _from_fresh(opened[1], answer)
        yield before, after
        if not isinstance(after, RefusedError) or after.aborted:
            return


def _from_fresh(opener: Opener, answer: Answer) -> Outputs:
    """Load a model and run a case once; return the outputs by name, or the error if the load or the run is refused."""
    try:
        return _outputs_of(opener(), answer)
    except RefusedError as error:
        return error


def _outputs_of(session: Session, answer: Answer) -> Outputs:
    """Run a case; return the outputs by name, or the error if the run is refused."""
    try:
        return dict(zip(session.outputs, session.run(answer.case.feeds), strict=True))
    except RefusedError as error:
        return error

"""Run the second model on what the first has answered, and weigh what differs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from graphfix.checker.runs.difference import Difference, difference
from graphfix.checker.runs.first_difference import Place
from graphfix.checker.runs.given_inputs import expectation
from graphfix.results import Run, Verdict
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from graphfix.checker.runs.original_runs import Answer, Answers
    from graphfix.checker.task import Criterion
    from graphfix.runtimes.session import Session

    Opener = Callable[[], Session]


_ONE_SIDED_NAN = "nan-against-number"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two models, each with what opens it, and what is known of the runtime's own ways."""

    opened: tuple[Opener, Opener]
    criterion: Criterion
    locate: Callable[[Mapping[str, object], Mapping[str, Difference]], Place | None]
    """(the inputs, the outputs that differ) -> the first tensor that differs."""
    decisive: Callable[[Difference, Place | None], bool]
    """Whether a difference is more than the runtime's own way with NaN and the sign of zero."""
    progress: Callable[[str], None] = field(repr=False)
    optimized: tuple[Opener, Opener] | None = None
    """What opens them with all optimizations, for a run that is reported and decides nothing."""


@dataclass(frozen=True, slots=True)
class _Finding:
    """What one run showed."""

    run: Run
    exceptions: tuple[dict[str, object], ...] = ()
    first: dict[str, object] | None = None


def weigh(comparison: Comparison, answers: Answers) -> tuple[Verdict, bool]:
    """Run the second model and compare; also return whether it lacks a kernel that the first did not need."""
    comparison.progress("running the second model")
    try:
        session = comparison.opened[1]()
    except RefusedError as error:
        reason = f"the second model does not load, the first runs: {error}"
        return Verdict("different", runs=answers.refused, reason=reason), error.missing_kernel
    given = [_outputs(session, answer) for answer in answers.accepted]
    del session  # one model in memory at a time
    findings: list[_Finding] = []
    for answer, outputs in zip(answers.accepted, given, strict=True):
        decided = any(finding.run.status == "different" for finding in findings)
        findings.append(_found(comparison, answer, outputs, located=decided))
    verdict = _verdict(findings, answers)
    optimized = _optimized(comparison.optimized, comparison, answers) if comparison.optimized is not None else []
    runs = [*(finding.run for finding in findings), *optimized, *answers.refused]
    return replace(verdict, runs=tuple(runs)), False


def _verdict(findings: Sequence[_Finding], answers: Answers) -> Verdict:
    exceptions = _merged([entry for finding in findings for entry in finding.exceptions])
    worst = next((f for f in findings if f.run.status == "different"), None)
    if worst is not None:
        return Verdict("different", exceptions=exceptions, first_difference=worst.first, reason=worst.run.reason)
    unstable = list(dict.fromkeys(name for answer in answers.accepted for name in answer.unstable))
    if unstable:
        return Verdict("undecided", exceptions=exceptions, reason=_unstable(unstable))
    return Verdict("equal", exceptions=exceptions)


def _outputs(session: Session, answer: Answer) -> dict[str, object] | RefusedError:
    try:
        return dict(zip(session.outputs, session.run(answer.case.feeds), strict=True))
    except RefusedError as error:
        return error


def _found(
    comparison: Comparison, answer: Answer, outputs: dict[str, object] | RefusedError, *, located: bool
) -> _Finding:
    """Compare the outputs of one run; `located`: the place of a difference is known from another one."""
    sizes = dict(answer.case.sizes)
    if isinstance(outputs, RefusedError):
        reason = f"the second model fails where the first runs: {outputs}"
        return _Finding(Run(sizes, "off", "different", reason=reason))
    differences = _compared(answer, outputs, comparison.criterion)
    run = Run(
        sizes,
        "off",
        "undecided" if answer.unstable else "equal",
        outputs=len(answer.outputs) - len(answer.unstable),
        largest_difference=_largest(differences.values()),
        reason=_unstable(answer.unstable) if answer.unstable else _expected(answer, outputs),
    )
    if not differences or located:
        decided = any("value" in found.counts for found in differences.values())
        return _Finding(replace(run, status="different", reason=_named(differences)) if decided else run)
    return _placed(comparison, answer, differences, run)


def _placed(comparison: Comparison, answer: Answer, differences: Mapping[str, Difference], run: Run) -> _Finding:
    comparison.progress("looking for the first tensor that differs")
    place = comparison.locate(answer.case.feeds, differences)
    decisive = [(name, found) for name, found in differences.items() if comparison.decisive(found, place)]
    if decisive:
        name, found = decisive[0]
        record = (place or Place(name, "", "not found", found)).as_record()
        return _Finding(replace(run, status="different", reason=_named(differences)), first=record)
    site = place.producer if place is not None else None
    entries: list[dict[str, object]] = [
        {"class": _ONE_SIDED_NAN if kind == "value" else kind, "output": name, "site": site, "count": count}
        for name, found in differences.items()
        for kind, count in found.counts.items()
    ]
    return _Finding(run, exceptions=tuple(entries))


def _compared(answer: Answer, outputs: Mapping[str, object], criterion: Criterion) -> dict[str, Difference]:
    names = [name for name in answer.outputs if name not in answer.unstable]
    found = {name: difference(answer.outputs[name], outputs[name], criterion) for name in names}
    return {name: each for name, each in found.items() if each is not None}


def _optimized(openers: tuple[Opener, Opener], comparison: Comparison, answers: Answers) -> list[Run]:
    """Run both models with all optimizations; this is reported and decides nothing."""
    comparison.progress("running both models with optimizations")
    results: list[list[dict[str, object] | RefusedError]] = []
    try:
        for opener in openers:
            session = opener()
            results.append([_outputs(session, answer) for answer in answers.accepted])
            del session  # one model in memory at a time
    except RefusedError as error:
        return [Run({}, "on", "undecided", reason=str(error))]
    return [
        _optimized_run(answer, before, after, comparison.criterion)
        for answer, before, after in zip(answers.accepted, *results, strict=True)
    ]


def _optimized_run(
    answer: Answer,
    before: dict[str, object] | RefusedError,
    after: dict[str, object] | RefusedError,
    criterion: Criterion,
) -> Run:
    sizes = dict(answer.case.sizes)
    if isinstance(before, RefusedError):
        return Run(sizes, "on", "undecided", reason=f"the first model fails: {before}")
    if isinstance(after, RefusedError):
        return Run(sizes, "on", "undecided", reason=f"the second model fails: {after}")
    found = _compared(replace(answer, outputs=before), after, criterion)
    different = any({"value", "signed-zero"} & found[name].counts.keys() for name in found)
    return Run(
        sizes,
        "on",
        "different" if different else "equal",
        outputs=len(answer.outputs) - len(answer.unstable),
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
    """Add up the counts of the same class, output and site."""
    merged: dict[tuple[object, ...], int] = {}
    for entry in entries:
        key = (entry["class"], entry["output"], entry["site"])
        merged[key] = merged.get(key, 0) + int(str(entry["count"]))
    return tuple({"class": kind, "output": name, "site": site, "count": n} for (kind, name, site), n in merged.items())


def _named(differences: Mapping[str, Difference]) -> str:
    return f"the outputs differ: {', '.join(differences)}"


def _unstable(names: Sequence[str]) -> str:
    return f"two runs of the first model itself differ in: {', '.join(names)}"

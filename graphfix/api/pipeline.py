"""Carry out a request: load a file, bind its sizes, rewrite it, verify the result, and only then write it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from graphfix import formats
from graphfix.api import loading
from graphfix.api.steps import Seconds, timed, with_path
from graphfix.engine import binding
from graphfix.engine import request as asked
from graphfix.formats.neutral import publish
from graphfix.results import Outcome, Verdict
from graphfix.results.claims import SHAPES_INFERRED, Claims
from graphfix.results.progress import Notice

if TYPE_CHECKING:
    from graphfix.engine.binding import Sizes
    from graphfix.engine.extracts.selection import NodeSelection
    from graphfix.engine.policy import Policy
    from graphfix.engine.request import Request
    from graphfix.engine.run import Report
    from graphfix.graph.protocols import Model, Step
    from graphfix.results.listing import Listing
    from graphfix.runtimes.process import Child


def fix(model: Model, request: Request, steps: Sequence[Step] | None = None, *, name: str = "model") -> Outcome:
    """Bind and rewrite a loaded model in place, by `steps` or by the rewrites of the request. Raises GraphfixError.

    `name` is the name of the model in errors and in the outcome.
    """
    seconds: Seconds = {}
    sizes = binding.bind(model, Path(name), request)
    with timed(seconds, "plan"):
        policy = asked.policy(request)
        asked.limit(model, request)
        steps = _chosen(request, policy) if steps is None else steps
        report = _run(model, request, policy, steps, "changed")
    return _outcome("fix", Path(name), model, report, request, seconds, sizes)


def fix_file(source: Path, output: Path, request: Request) -> Outcome:
    """Fix one file, and count the sites that `check` finds in the output. Raises GraphfixError."""
    outcome = rewrite_file(source, output, request)
    if outcome.output is None:
        return outcome
    # # the output is checked without the bindings, so sites that only a binding decided must not stop it
    if request.unknown == "error":
        request = replace(request, unknown="keep")
    seconds = dict(outcome.seconds)
    with timed(seconds, "check"):
        left = _sites_left(outcome, output, request)
    options = asked.choice_options(request) if left else ()
    return replace(outcome, sites_left=left, check_options=options, seconds=seconds)


def _sites_left(outcome: Outcome, output: Path, request: Request) -> int:
    """Return how many findings `check` of the output has, by the request's choices and without its bindings.

    The output is checked only if its count may be above 0: if `fix` itself left a site, if the file can't state a
    binding (--same in TFLite, a range of --dim), if a rewrite of the user ran, or if LiteRT refused the model, so that
    it computed no known result before the edits. In all other cases the count is 0.
    """
    left = any(site.is_finding for site in outcome.sites)
    refused = any(text.startswith(SHAPES_INFERRED) for text in outcome.assumes)
    ranges = any(isinstance(size, tuple) for size in request.dims.values())
    if not (left or refused or ranges or request.same or request.rewrites):
        return 0
    found = check(output, asked.without_bindings(request)).sites
    return sum(site.is_finding for site in found)


def rewrite_file(source: Path, output: Path, request: Request) -> Outcome:
    """Plan, write and verify one file; publish the output if the verdict allows it. Raises GraphfixError."""
    policy = asked.policy(request)
    steps = _chosen(request, policy)
    publish.refuse(source, output, in_place=request.in_place)
    if request.target_file is not None:
        publish.refuse_overwrite(output, "the output", [("the target file", Path(request.target_file))])
    with _process(source, request) as process:
        outcome = _rewritten(source, output, request, policy, steps, process)
    return _with_files(outcome, request, source, *([output] if outcome.output is not None else []))


def _with_files(outcome: Outcome, request: Request, *paths: Path) -> Outcome:
    """Return the outcome with facts about these files, if a report that shows them was requested."""
    if not request.excerpt:
        return outcome
    from graphfix.formats.file_facts import file_facts

    return replace(outcome, files=[file_facts(path, request.data_roots) for path in paths])


def _process(source: Path, request: Request) -> AbstractContextManager[Child | None]:
    """Start the process of the runs, unless the request needs no runs."""
    if not request.check_result or request.proof == "only":
        return nullcontext()
    from graphfix import checker

    return checker.started(source)


def _rewritten(
    source: Path, output: Path, request: Request, policy: Policy, steps: Sequence[Step], process: Child | None
) -> Outcome:
    """Return the outcome of one file; write the output if the verdict allows it."""
    seconds: Seconds = {}
    model, sizes = _loaded(source, request, seconds, output)
    with with_path(source), timed(seconds, "plan"):
        claims = _claims(model) if request.check_result else None
        report = _run(model, request, policy, steps, "changed")
        report.sites[:0] = loading.function_sites(source, request)
    outcome = _outcome("fix", source, model, report, request, seconds, sizes)
    outcome = replace(outcome, notes=(*outcome.notes, *publish.misnamed(source, output, model.format)))
    if request.stop_where_blocked and any(site.blocks for site in outcome.sites):
        return outcome
    if not request.check_result:
        request.progress("writing the result")
        with timed(seconds, "write"):
            model.save(output)
        return replace(outcome, output=str(output), verdict=Verdict("skipped"))
    with publish.scratch(output) as made:
        request.progress("writing the result")
        with timed(seconds, "write"):
            made.extend(model.save(made[0], final_name=output.name))
        verdict = compare(source, made[0], request, seconds, sizes, claims, process)
        outcome = replace(outcome, verdict=verdict)
        if not _good_enough(verdict, request, changed=model.changed):
            return outcome
        publish.publish(made, output)
    return replace(outcome, output=str(output))


def _claims(model: Model) -> Claims:
    """Return the sizes that the model assumes, which a run of the original can contradict."""
    from graphfix.engine.extracts.claims import claims_of

    return claims_of(model)


def plan_file(source: Path, output: Path | None, request: Request) -> Outcome:
    """Return the outcome that `fix_file` would have if no run contradicts it. Nothing is written or verified.

    Raises GraphfixError.
    """
    from graphfix.engine.extracts import excerpt

    policy = asked.policy(request)
    steps = _chosen(request, policy)
    if output is not None:
        publish.refuse(source, output, in_place=request.in_place)
    seconds: Seconds = {}
    model, sizes = _loaded(source, request, seconds, output)
    if output is None:
        binding.demand_static(model, source, request)
    with with_path(source), timed(seconds, "plan"):
        before = excerpt.snapshot(model.graphs) if request.diff else None
        report = _run(model, request, policy, steps, "changed")
        report.sites[:0] = loading.function_sites(source, request)
        pairs = excerpt.changes(before, excerpt.snapshot(model.graphs)) if before is not None else ()
        outcome = _outcome("fix", source, model, report, request, seconds, sizes)
        return _with_files(replace(outcome, dry_run=True, changes=list(pairs)), request, source)


def _good_enough(verdict: Verdict, request: Request, *, changed: bool) -> bool:
    """Return whether the result may be written. An unchanged result is a copy of the file, so it may be undecided."""
    if request.strict_proof:
        return verdict.status == "proved"
    return verdict.status in ("equal", "proved") or (verdict.status == "undecided" and not changed)


def check(source: Path, request: Request) -> Outcome:
    """List the implicit broadcasts of a file; nothing is written. Raises GraphfixError."""
    policy = asked.policy(request)
    steps = _chosen(request, policy)
    seconds: Seconds = {}
    model, sizes = _loaded(source, request, seconds)
    with with_path(source), timed(seconds, "plan"):
        report = _run(model, request, policy, steps, "found")
        report.sites[:0] = [*loading.function_sites(source, request), *binding.free_sites(model, request.goal)]
    outcome = _outcome("check", source, model, report, request, seconds, sizes)
    return _with_files(replace(outcome, changed=False), request, source)


def verify(before: Path, after: Path, request: Request) -> Outcome:
    """Compare two files, and return an outcome with the verdict. Raises GraphfixError."""
    seconds: Seconds = {}
    loading.refuse_reports_of((before, after), request)
    verdict = compare(before, after, request, seconds)
    format_ = formats.format_of(before)
    for path in (before, after):
        _note_name(path, format_, request)
    outcome = Outcome("verify", str(before), format_, output=str(after), verdict=verdict, seconds=seconds)
    return _with_files(outcome, request, before, after)


def show(source: Path, request: Request, selection: NodeSelection) -> Listing:
    """Return the listing that `show` prints, after the sizes are bound. Raises GraphfixError."""
    from graphfix.engine.extracts import listing

    request.progress("reading the model")
    model = loading.shown(source, request)
    _note_name(source, model.format, request)
    with with_path(source):
        return listing.listing(model, selection)


def _loaded(source: Path, request: Request, seconds: Seconds, output: Path | None = None) -> tuple[Model, Sizes]:
    """Return the model with its sizes bound.

    With an `output`, raise GraphfixError if the model can't be written there.

    The time of shape inference is counted separately.
    """
    request.progress("reading the model")
    with timed(seconds, "load"):
        model, sizes = loading.bound(source, request)
        _note_name(source, model.format, request)
        asked.limit(model, request)
        loading.refuse_reports(model, request)
        if output is not None:
            model.refuse_output(output)
            binding.demand_static(model, source, request)
    seconds["infer"] = round(model.inferring, 6)
    seconds["load"] = round(seconds["load"] - model.inferring, 6)
    return model, sizes


def _note_name(source: Path, own: str, request: Request) -> None:
    """Report a file whose name has the suffix of the other format, once for each file that a command reads."""
    if said := publish.misnamed_input(source, own):
        request.progress(Notice(said))


def _chosen(request: Request, policy: Policy) -> tuple[Step, ...]:
    """Return the steps that run. Raises GraphfixError for an unknown name."""
    if not (request.rewrites or request.only or request.skip):
        import rewrites

        return rewrites.steps(set(request.goal.rewrites).difference(policy.left_out))
    from graphfix.api import own_rewrites

    return own_rewrites.steps(request, policy)


def _run(
    model: Model, request: Request, policy: Policy, steps: Sequence[Step], done: Literal["changed", "found"]
) -> Report:
    """Run the rewrites, and check the limits of the target unless `--only` names the rewrites."""
    from graphfix.engine import run
    from graphfix.targets import limits

    request.progress("planning")
    questions = None if request.only else limits.of(request.goal)
    if not request.excerpt:
        return run.run(model, steps, policy, done, questions)
    from graphfix.engine.extracts import excerpt

    before = excerpt.snapshot(model.graphs)
    report = run.run(model, steps, policy, done, questions)
    drawn = excerpt.excerpt(before, excerpt.snapshot(model.graphs), report.sites)
    report.excerpt = replace(drawn, names=model.graph_names)
    return report


def compare(
    before: Path,
    after: Path,
    request: Request,
    seconds: Seconds,
    sizes: Sizes | None = None,
    claims: Claims | None = None,
    process: Child | None = None,
) -> Verdict:
    """Return the checker's verdict at `sizes`, or at those of the request. Raises GraphfixError.

    With `claims` the runs of the first model also check the assumed sizes. The time of the proof is counted separately.
    """
    from graphfix import checker
    from graphfix.checker.files.pair import Pair
    from graphfix.checker.task import Criterion, Task

    sizes = binding.requested(before, request) if sizes is None else sizes
    with timed(seconds, "verify"):
        pair = Pair(
            before,
            after,
            bindings=sizes.fixed_dims,
            shapes=sizes.fixed_shapes,
            same=sizes.same,
            ranges=sizes.ranges,
            values=sizes.values,
            signature=request.signature,
            trust_stored=request.trust_stored,
            narrow_inputs=request.narrow_inputs,
            data_root=request.data_roots,
        )
        task = Task(
            pair,
            inputs=None if request.inputs is None else Path(request.inputs),
            runs=request.runs,
            thorough=request.thorough,
            seed=request.seed,
            criterion=Criterion(request.atol, request.rtol),
            proof=request.proof,
            load=request.load,
            progress=request.progress,
            claims=claims,
            process=process,
        )
        verdict = binding.with_defaults_named(checker.verify(task), sizes)
    if verdict.proof is not None:
        seconds["proof"] = float(verdict.proof["seconds"])
        seconds["verify"] = round(max(seconds["verify"] - seconds["proof"], 0.0), 6)
    return verdict


def _outcome(
    command: str, path: Path, model: Model, report: Report, request: Request, seconds: Seconds, sizes: Sizes
) -> Outcome:
    from graphfix.engine.sites import unknown_operators
    from graphfix.targets import limits

    unasked = () if request.only else limits.unasked(request.goal, model.format)
    return Outcome(
        command,
        str(path),
        model.format,
        target=request.goal.name,
        changed=model.changed,
        rewrites=report.rewrites,
        sites=report.sites,
        assumes=(*sizes.by_default, *model.assumes, *report.assumes),
        open_sizes=tuple(report.open_sizes),
        excerpt=report.excerpt,
        notes=(*unasked, *unknown_operators(model.graphs)),
        seconds=seconds,
        own_codes=report.own_codes,
    )

"""Compare two TFLite models by runs: on each kernel set of LiteRT, and for each SignatureDef."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.checker.runs.budget import allowance
from graphfix.checker.runs.comparing.inexact_sites import bounded
from graphfix.checker.runs.inputs.interface import disagreement, litert_interface
from graphfix.checker.runs.loads import Loads, without_runs
from graphfix.checker.runs.tflite.cut_models import CutModels
from graphfix.checker.runs.tflite.kernel_run import KERNEL_NAMES, KernelRun, KernelRunner, refused
from graphfix.checker.runs.tflite.pace import ORDER, Pace
from graphfix.checker.runs.witness import Witness
from graphfix.results import GraphfixError, Run, Verdict, VerdictStatus
from graphfix.results.runtime_facts import installed
from graphfix.runtimes.litert import evaluation
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import ModelDetails, RefusedError

if TYPE_CHECKING:
    from graphfix.checker.runs.inputs.seeded_inputs import Case
    from graphfix.checker.runs.loads import Ways
    from graphfix.checker.task import Task
    from graphfix.runtimes.sessions import Sessions

# Parts of LiteRT's messages for a file that is no TFLite model.
_NO_MODEL = ("valid Flatbuffer", "schema version", "Could not open", "Failed to open")


def by_runs(task: Task, sessions: Sessions) -> Verdict:
    """Compare two TFLite files by runs in the processes of `sessions`. Raise GraphfixError for bad input."""
    witness = Witness(task.claims) if task.claims is not None else None
    sessions.memory = allowance(task.pair.before.stat().st_size, thorough=task.thorough)
    verdict = _by_runs(task, sessions, witness)
    versions = {"ai-edge-litert": installed("ai-edge-litert")}
    return replace(verdict, versions=versions)


def by_loads(task: Task) -> Verdict:
    """Load two TFLite files on every kernel set without running them, and return the verdict."""
    with Child() as sessions:
        sessions.memory = allowance(task.pair.before.stat().st_size, thorough=task.thorough)
        verdict = Loads(task.progress).judge(Verdict("undecided"), _ways(task, sessions), {})
    versions = {"ai-edge-litert": installed("ai-edge-litert")}
    return replace(verdict, reason=without_runs(verdict.load), versions=versions)


def _ways(task: Task, sessions: Sessions) -> Ways:
    """Return, for each kernel set, two functions that load the first and the second file and allocate their tensors."""

    def allocating(path: Path, kernels: str) -> None:
        sessions.ask(sessions.load_tflite(path, kernels).request, "allocate", {})

    return {
        _way(kernels): (partial(allocating, task.pair.before, kernels), partial(allocating, task.pair.after, kernels))
        for kernels in evaluation.KERNELS
    }


def _way(kernels: str) -> str:
    return f"LiteRT with {KERNEL_NAMES[kernels]}"


def _loads(task: Task, kernel_runs: Iterable[KernelRun]) -> Loads:
    """Return the loads that the runs have shown: a second model that has run was loaded."""
    loads = Loads(task.progress)
    for each in kernel_runs:
        if each.cases and each.verdict.status != "different":
            loads.record_loaded(_way(each.kernels))
    return loads


def _by_runs(task: Task, sessions: Sessions, witness: Witness | None) -> Verdict:
    """Compare the interfaces, run both models for all kernel sets and signatures, and return the verdict."""
    facts = witness.facts(ran=False) if witness is not None else None
    sessions.kept = 2 if task.brief else 1
    before, after = (_declared(sessions, path, task) for path in (task.pair.before, task.pair.after))
    if isinstance(before, RefusedError):
        return Verdict("undecided", facts=facts, reason=f"the first model does not load: {before}")
    if isinstance(after, RefusedError) and after.stopped:
        return Verdict("undecided", facts=facts, reason=f"the second model was not loaded: {after}")
    if isinstance(after, RefusedError):
        return Verdict("different", reason=f"the second model does not load, the first does: {after}")
    reason = _disagreement(_without_dropped(before, after, task.pair.values), after, task.pair.signature)
    if reason is not None:
        return Verdict("different", reason=reason)
    runner = KernelRunner(task, sessions, (task.pair.before, task.pair.after), witness=witness)
    each_kernel_set = _briefly if task.brief and not task.copied else _on_each_kernel_set
    kernel_runs = list(each_kernel_set(runner, task.pair.signature))
    loads = _loads(task, kernel_runs)
    others = [] if task.copied or task.pair.signature is not None else [key for key, at in before.signatures if at]
    for key in others:
        kernel_runs += each_kernel_set(replace(runner, own_inputs=True), key)
    cut, assumes = _without_custom_ops(runner, [each for each in kernel_runs if not each.signature])
    if witness is not None:
        facts = witness.facts(ran=any(each.cases for each in kernel_runs))
    verdict = replace(_combined([*kernel_runs, *cut], runner), assumes=assumes, facts=facts)
    return verdict if task.copied else loads.judge(verdict, _ways(task, sessions), {})


def _declared(sessions: Sessions, path: Path, task: Task) -> ModelDetails | RefusedError:
    """Return the interface of a file from the first kernel set that loads it, or the refusal.

    Raise GraphfixError if the file is no TFLite model.
    """
    refusal: RefusedError | None = None
    for kernels in ORDER if task.brief else evaluation.KERNELS:
        try:
            return sessions.load_tflite(path, kernels, signature=task.pair.signature).interface
        except RefusedError as error:
            refusal = refusal or error
            if any(words in str(error) for words in _NO_MODEL):
                raise GraphfixError(f"{path}: no TFLite model: {error}; get the file again") from None
    return refusal or RefusedError("LiteRT has no kernels")


def _without_dropped(before: ModelDetails, after: ModelDetails, values: Collection[str]) -> ModelDetails:
    """Return the first interface without the constant inputs (`values`) that the second model does not have."""
    names = {spec.name for spec in after.inputs}
    inputs = (spec for spec in before.inputs if spec.name in names or not {spec.name, spec.alias} & set(values))
    return replace(before, inputs=tuple(inputs))


def _disagreement(before: ModelDetails, after: ModelDetails, signature: str | None) -> str | None:
    """Return why models with these interfaces can't be equal, including their signatures; None if they can."""
    interfaces = litert_interface(before), litert_interface(after)
    reason = disagreement(*interfaces)
    if reason is not None:
        return reason
    if signature is None and sorted(before.signatures) != sorted(after.signatures):
        a, b = (
            ", ".join(f"{key} (subgraph {at})" for key, at in interface.signatures) for interface in (before, after)
        )
        return f"the signatures differ: {a or 'none'} in the first, {b or 'none'} in the second"
    for a_spec, b_spec in zip(before.inputs + before.outputs, after.inputs + after.outputs, strict=True):
        if a_spec.alias != b_spec.alias:
            return f"the signature calls '{a_spec.name}' '{a_spec.alias}' in the first, '{b_spec.alias}' in the second"
    return None


def _on_each_kernel_set(runner: KernelRunner, signature: str | None) -> Iterator[KernelRun]:
    """Yield the runs of each kernel set. Inputs that one kernel set accepted are used for all later sets, too."""
    cases: Sequence[Case] = ()
    for kernels in reversed(evaluation.KERNELS[:2]) if runner.task.copied else evaluation.KERNELS:
        kernel_run = runner.run(kernels, signature, cases)
        cases = cases or kernel_run.cases
        yield kernel_run
        if runner.task.copied and cases:
            break  # one kernel set is enough to observe the sizes


def _briefly(runner: KernelRunner, signature: str | None) -> Iterator[KernelRun]:
    """Yield one run for each kernel set, the fastest first. A slow kernel set runs the smallest sizes, or nothing."""
    pace = Pace()
    runner = replace(runner, pace=pace)
    cases: Sequence[Case] = ()
    for kernels in ORDER:
        share = pace.share(kernels, cases[0].sizes if cases else {})
        if share == "none":
            why = f"not run: {KERNEL_NAMES[kernels]} take long, and the models are proved equal; --thorough runs them"
            yield KernelRun(kernels, signature or "", refused(why))
            continue
        least = share == "least"
        kernel_run = replace(runner, least=least).run(kernels, signature, () if least else cases)
        cases = kernel_run.cases or cases
        yield kernel_run


def _without_custom_ops(
    runner: KernelRunner, kernel_runs: Sequence[KernelRun]
) -> tuple[list[KernelRun], tuple[str, ...]]:
    """Run the models without the custom operators that LiteRT lacks, on the kernel sets that lack them.

    Return the runs, and the assumptions about the operators that were cut out.
    """
    cut: list[KernelRun] = []
    with tempfile.TemporaryDirectory(prefix="graphfix-") as folder:
        models = CutModels(runner.paths, Path(folder))
        cut += [_without(runner, each, models) for each in kernel_runs if each.custom]
    if not any(each.cases for each in cut):
        return cut, ()
    lacking = " and ".join(KERNEL_NAMES[each.kernels] for each in cut) if len(cut) < len(kernel_runs) else "LiteRT"
    return cut, tuple(_assumption(name, lacking) for name in sorted(models.names))


def _assumption(name: str, lacking: str) -> str:
    verb = "have" if lacking.endswith("kernels") else "has"
    why = f"{lacking} {verb} no kernel for it"
    return f"the custom operator '{name}' returns the same results for the same operands ({why})"


def _without(runner: KernelRunner, kernel_run: KernelRun, models: CutModels) -> KernelRun:
    """Cut out custom operators one after the other until the rest runs, and return the runs of the rest."""
    custom = kernel_run.custom
    while True:
        models.take(custom)
        if models.fault is not None:
            listed = ", ".join(f"'{name}'" for name in sorted(models.names))
            reason = f"LiteRT has no kernel for the custom operator {listed}: {models.fault}"
            run = Run({}, "off", "undecided", reason=reason)
            return KernelRun(kernel_run.kernels, "", Verdict("undecided", runs=(run,), reason=reason))
        custom = _lacking(runner.sessions, models.written(0), kernel_run.kernels)
        if not custom or custom in models.names:
            break
    paths = models.written(0), models.written(1)
    found = replace(runner, paths=paths, own_inputs=True).run(kernel_run.kernels, None, ())
    listed = ", ".join(f"'{name}'" for name in sorted(models.names))
    runs = tuple(replace(run, reason=run.reason or f"without {listed}") for run in found.verdict.runs)
    return replace(found, verdict=replace(found.verdict, runs=runs))


def _lacking(sessions: Sessions, path: Path, kernels: str) -> str:
    """Return the first custom operator of a model that a kernel set lacks; empty if it lacks none."""
    try:
        sessions.ask(sessions.load_tflite(path, kernels).request, "allocate", {})
    except RefusedError as error:
        return error.custom
    return ""


def _combined(kernel_runs: Sequence[KernelRun], runner: KernelRunner) -> Verdict:
    """Return one verdict for all kernel sets and signatures.

    A kernel set on which the original does not run decides nothing.
    """
    runs = tuple(run for each in kernel_runs for run in each.runs)
    exceptions = tuple({**entry, "kernels": each.kernels} for each in kernel_runs for entry in each.verdict.exceptions)
    ran = [each for each in kernel_runs if each.cases]
    worst = next((each for each in ran if each.verdict.status == "different"), None)
    if worst is not None:
        reason = f"{_only(ran, worst)}{_where(worst)}{worst.verdict.reason}"
        first = worst.verdict.first_difference
        return Verdict("different", runs=runs, exceptions=exceptions, first_difference=first, reason=reason)
    open_reason = next(
        (f"{_where(each)}{each.verdict.reason}" for each in ran if each.verdict.status != "equal"),
        None,
    )
    undecided = open_reason or _never_ran(kernel_runs, runner)
    if runner.task.inexact:
        found = [each.inexact for each in kernel_runs]
        return bounded(Verdict("equal", runs=runs, exceptions=exceptions), runner.task.inexact, found, undecided)
    status: VerdictStatus = "equal" if undecided is None else "undecided"
    return Verdict(status, runs=runs, exceptions=exceptions, reason=undecided)


def _never_ran(kernel_runs: Iterable[KernelRun], runner: KernelRunner) -> str | None:
    """Return why a signature (or the main graph) ran on no kernel set; None if each ran on some kernel set."""
    by_signature: dict[str, list[KernelRun]] = {}
    for kernel_run in kernel_runs:
        by_signature.setdefault(kernel_run.signature, []).append(kernel_run)
    for group in by_signature.values():
        if not any(each.cases for each in group):
            # if custom operators were cut out, the last run is that of the cut model
            last = group[-1] if group[0].custom else group[0]
            return f"{_where(last)}{last.verdict.reason}{runner.aborting(last)}"
    return None


def _only(ran: Sequence[KernelRun], worst: KernelRun) -> str:
    """Return the beginning of a reason that lists the kernel sets that differ; "" if all kernel sets differ."""
    same = [each for each in ran if each.signature == worst.signature]
    differing = [each.kernels for each in same if each.verdict.status == "different"]
    if len(differing) == len(same):
        return ""
    return f"only with {' and '.join(KERNEL_NAMES[kernels] for kernels in dict.fromkeys(differing))}: "


def _where(kernel_run: KernelRun) -> str:
    """Return the beginning of a reason that names the signature; "" for the main graph."""
    return f"signature '{kernel_run.signature}': " if kernel_run.signature else ""
